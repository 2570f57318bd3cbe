"""Large messages come and go all the time: their memory is to stay with the process."""

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of glibc's malloc.h
_BYTES = 1 << 30
_MOST_MMAP = 32 << 20  # glibc's own limit


def keep_freed_memory() -> None:
    """Tell glibc not to give freed memory back to the system, where there is glibc.

    Otherwise each message of 1 MB takes fresh pages, which the kernel has to zero.
    Call it before threads start.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    for what, value in (
        (_TRIM_THRESHOLD, _BYTES),
        (_MMAP_THRESHOLD, _MOST_MMAP),
        (_ARENA_MAX, 1),
    ):
        mallopt(what, value)
