"""The order in which parts of a sum are added: by halves, even and odd ones apart.

    tree(a, b, c, d) = (a + c) + (b + d)

In it the sum of every second part, or every fourth, is a node. Whoever has those parts
can add them up alone, and the whole is the same bits; see `schedule.parts`.
"""

from collections.abc import Sequence

import numpy as np

from geeps_caffe.device.array import Array


def add_tree(parts: Sequence[Array], out: Array, spare: Sequence[Array] = ()) -> Array:
    """The sum of arrays of one shape: in `out`, or the only part itself.

    Args:
        parts: kept as they are.
        out: another array.
        spare: more of them, for sums of sums; what is missing is made.

    >>> ones = [np.full(1, 2.0**-i, np.float32) for i in (0, 24, 24, 24)]
    >>> float(add_tree(ones, np.empty(1, np.float32))[0] - 1) * 2**23
    1.0
    """
    if len(parts) == 1:
        return parts[0]
    even = add_tree(parts[0::2], out, spare)
    if len(parts) > 3:  # else there is one odd part, which needs no memory
        spare = spare if len(spare) else (np.empty_like(out),)
        odd = add_tree(parts[1::2], spare[0], spare[1:])
    else:
        odd = parts[1]
    return np.add(even, odd, out=out)
