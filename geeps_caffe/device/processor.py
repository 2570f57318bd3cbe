"""What Linux says of this machine's processor."""

from functools import cache
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


@cache
def processor(field: str, source: Path = _CPUINFO) -> str:
    """The first processor's field, such as "model name" or "vendor_id".

    Empty where the system or the processor has none.
    """
    try:
        lines = source.read_text().splitlines()
    except OSError:
        return ""
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return ""
