"""Two sources in one net that do not keep step with each other."""

from collections.abc import Sequence


def paired_lengths_warning(sources: Sequence[tuple[str, int | None]]) -> str:
    """A warning if sources that are read side by side have different lengths, or "".

    `sources` are the layers' names and numbers of records (None: unknown).

    >>> paired_lengths_warning([("images", 10), ("labels", 9)])
    "sources of different length are read side by side: 'images' has 10 records, \
'labels' has 9; after the first pass their records no longer belong together"
    """
    known = [(name, length) for name, length in sources if length is not None]
    if len({length for _, length in known}) < 2:
        return ""
    (first, count), *others = known
    told = [f"{first!r} has {count} records"]
    told += [f"{name!r} has {length}" for name, length in others]
    return (
        f"sources of different length are read side by side: {', '.join(told)}; "
        "after the first pass their records no longer belong together"
    )
