"""How the C library treats memory that is freed.

What a start has used it keeps: 23 MB after VGG-16's first weights, which never are of
use again.

By itself glibc gives buffers of an image's size back to the system and asks for them
again, 50 page faults for each picture that is decoded; with two threads at it, they
wait for each other in the kernel. Measured on 256x256 JPEGs: 451 us of a core for each
record on two threads before, 400 us after.
"""

import contextlib
import ctypes
import os
from collections.abc import Mapping

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # numbers of mallopt's
_VARIABLES = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")
_LARGE = 4 << 20  # bytes; what is larger is given back as before
_KEPT = 64 << 20


def keep_small_buffers(environment: Mapping[str, str] = os.environ) -> bool:
    """Keep freed buffers below 4 MB in the process; returns whether it could be done.

    It is not where the user has set this, or where there is no glibc.
    """
    if any(name in environment for name in _VARIABLES):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    settings = ((_MMAP_THRESHOLD, _LARGE), (_TRIM_THRESHOLD, _KEPT))
    return all(mallopt(ctypes.c_int(what), value) for what, value in settings)


def give_freed_memory_back() -> None:
    """Give what is free to the system, where there is glibc: after work done once."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
