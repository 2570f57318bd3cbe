"""What was measured, as parts of RESULTS.md: their heads, and where they go."""

import datetime
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")


def title(what: str, figures: str) -> list[str]:
    """The head of a part of the results: when, where, how busy, by which command."""
    now = datetime.datetime.now(datetime.UTC)
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    module = f"benchmarks.{Path(sys.argv[0]).stem}"
    command = " ".join(["python -m", module, *sys.argv[1:]])
    spins = os.environ.get("GOMP_SPINCOUNT")
    waiting = f", GOMP_SPINCOUNT={spins} for all peers" if spins else ""
    where = f"{now:%Y-%m-%d %H:%M} UTC, {processor()}, {cores} cores, load {load:.1f}"
    return ["", f"## {what}", "", f"{where}{waiting}: `{command}`. {figures}.", ""]


def processor() -> str:
    """The CPU's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = (line.split(":")[1].strip() for line in lines if "model name" in line)
    return next(names, platform.machine())


def tell(lines: Sequence[str], write: bool) -> None:
    """Print lines, and append them to the results if `write`."""
    print("\n".join(lines))
    if write:
        append(lines)


def append(lines: Sequence[str], file: Path = RESULTS) -> None:
    """Add lines to a file's end."""
    with file.open("a") as end:
        end.write("\n".join(lines) + "\n")
