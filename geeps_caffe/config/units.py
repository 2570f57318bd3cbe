"""Amounts of memory as people write them: "3GB", "512 MiB", "50%"."""

import re
from dataclasses import dataclass

from geeps_caffe.errors import UsageError

_UNITS = {
    "": 1,
    "b": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}
_AMOUNT = re.compile(r"(\d+(?:\.\d*)?)\s*([kmgt]i?|)b?", re.IGNORECASE)


@dataclass(frozen=True)
class Amount:
    """So many bytes, or a share of what would be used without a limit."""

    bytes: int | None = None
    share: float | None = None  # 0.5 for "50%"

    def of(self, whole: int) -> int:
        """The amount in bytes, where `whole` bytes would be used without a limit."""
        if self.bytes is not None:
            return self.bytes
        assert self.share is not None
        return int(self.share * whole)


def parse_amount(text: str) -> Amount:
    """Read an amount; GB is 10^9 bytes, GiB 2^30.

    >>> parse_amount("3GB").bytes, parse_amount("1.5 MiB").bytes
    (3000000000, 1572864)
    >>> parse_amount("50%").share
    0.5

    Raises:
        UsageError: it is no amount, or nothing at all.
    """
    text = text.strip()
    if text.endswith("%"):
        return Amount(share=_percent(text))
    found = _AMOUNT.fullmatch(text)
    if not found or float(found[1]) == 0:
        raise _no_amount(text)
    return Amount(bytes=int(float(found[1]) * _UNITS[found[2].lower()]))


def _percent(text: str) -> float:
    try:
        value = float(text[:-1])
    except ValueError:
        raise _no_amount(text) from None
    if not 0 < value <= 100:
        raise UsageError(f"{text!r}: a share is above 0% and at most 100%")
    return value / 100


def _no_amount(text: str) -> UsageError:
    return UsageError(
        f"{text!r} is no amount of memory; expected such as 3GB, 512MiB, 50% or a "
        "number of bytes"
    )


def show_bytes(nbytes: int) -> str:
    """A number of bytes for people.

    >>> show_bytes(999), show_bytes(1536000), show_bytes(243900000)
    ('999 B', '1.54 MB', '244 MB')
    """
    value, units = float(nbytes), ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.3g} {units[0]}"
