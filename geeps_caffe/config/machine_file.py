"""Machine files: one host a line, as GeePS and pdsh have them."""

import ipaddress
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from geeps_caffe.errors import InputError, UsageError

BASE_PORT = 9090  # GeePS's
#: A number of IPv6, in brackets or without a port; or a name, which begins with no -.
_LINE = re.compile(
    r"(?:\[(?P<boxed>[^]]*)\]|(?P<bare>[^:]*:[^:]*:[^]]*)$|(?P<name>\w[\w.-]*))"
    r"(?::(?P<port>[0-9]+))?"
)


@dataclass(frozen=True)
class Machine:
    """A line: a host, and the port of its agent. The line's number is the worker id."""

    name: str
    port: int


def read_machine_file(path: str, base_port: int = BASE_PORT) -> tuple[Machine, ...]:
    """The machines in a file: `host` or `host:port`, comments after #.

    A number of IPv6 stands in brackets, where a port follows. A host that is named
    again gets the next port, so that several agents can be on it.

    Raises:
        InputError: it can't be read, names nobody, has a line that is no host, or one
            port of a host twice.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: can't read the machine file: {error}") from error
    found: list[Machine] = []
    places: dict[Machine, str] = {}
    for number, line in enumerate(lines, 1):
        text, place = line.partition("#")[0].strip(), f"{path}:{number}"
        if not text:
            continue
        machine = _machine(text, place, base_port, found)
        if machine in places:
            raise InputError(
                f"{place}: {machine.name} has port {machine.port} in {places[machine]} "
                "too; give each agent its own, as NAME:PORT"
            )
        places[machine] = place
        found.append(machine)
    if not found:
        raise InputError(f"{path}: no host in this machine file; give one a line")
    return tuple(found)


def _machine(
    text: str, place: str, base_port: int, before: Sequence[Machine]
) -> Machine:
    found = _LINE.fullmatch(text)
    number = found and (found["boxed"] or found["bare"])
    if not found or (number and not _is_ipv6(number)):
        raise InputError(f"{place}: {text!r} is no host; expected NAME or NAME:PORT")
    name = number or found["name"]
    same = sum(machine.name == name for machine in before)
    port = int(found["port"] or base_port + same)
    if not 0 < port < 65536:
        raise InputError(f"{place}: {text!r}: {port} is no port; expected 1 to 65535")
    return Machine(name, port)


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def own_line(machines: Sequence[Machine], given: int | None) -> int:
    """Which line this process is: as given, or the one that names this machine.

    Raises:
        UsageError: there is no such line, or more than one.
    """
    if given is not None:
        if not 0 <= given < len(machines):
            raise UsageError(
                f"-worker_id is {given}, but the machine file has {len(machines)} "
                "lines; the first is 0"
            )
        return given
    if len(machines) == 1:
        return 0
    own = {socket.gethostname(), socket.getfqdn(), socket.gethostname().split(".")[0]}
    lines = [i for i, machine in enumerate(machines) if machine.name in own]
    if len(lines) == 1:
        return lines[0]
    names = ", ".join(machine.name for machine in machines)
    raise UsageError(
        f"which line of the machine file is this process? (here is "
        f"{socket.gethostname()}, it names {names}); give -worker_id, as pdsh's %n"
    )


def given_worker(worker_id: int, environ: Mapping[str, str]) -> int | None:
    """The worker id: from the flag if it is not negative, or from a launcher."""
    if worker_id >= 0:
        return worker_id
    for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"):
        if environ.get(name, "").isdecimal():
            return int(environ[name])
    return None
