"""How much memory a process of this machine may take at most."""

from contextlib import suppress
from pathlib import Path

_MEMINFO = "/proc/meminfo"
_CGROUP = "/sys/fs/cgroup/memory.max"


def host_bytes(meminfo: str = _MEMINFO, cgroup: str = _CGROUP) -> int | None:
    """Bytes of memory and swap, or fewer where a container has a limit.

    Args:
        meminfo: Linux's table of memory, "name: number kB" in each line.
        cgroup: the file with the container's limit, "max" where there is none.

    Returns:
        None where the system does not say.
    """
    rows = dict(_row(line) for line in _lines(meminfo))
    total = rows.get("MemTotal", 0) + rows.get("SwapTotal", 0)
    limits = [int(line) for line in _lines(cgroup) if line.strip().isdigit()]
    known = [size for size in (total, *limits) if size]
    return min(known, default=None)


def _lines(path: str) -> list[str]:
    with suppress(OSError):
        return Path(path).read_text(encoding="ascii", errors="replace").splitlines()
    return []


def _row(line: str) -> tuple[str, int]:
    name, _, value = line.partition(":")
    words = value.split()
    return name, int(words[0]) << 10 if words and words[0].isdigit() else 0
