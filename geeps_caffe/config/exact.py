"""What trains to the same bits on any number of workers; see `schedule.parts`."""

#: Learnable numbers of a net. Larger ones are left alone: it costs memory and time.
MOST_PARAMS = 1 << 20
LEAST = 16  # records of a part


def halvings(records: int, least: int = LEAST) -> int:
    """The power of 2 by which a batch is divided, into at least so many records each.

    A part has as many records however many workers share the batch: its odd factor
    times a power of 2.

    >>> [halvings(n) for n in (64, 128, 100, 96, 12, 101)]
    [4, 8, 4, 4, 1, 1]
    """
    parts = 1
    while records % (2 * parts) == 0 and records // (2 * parts) >= least:
        parts *= 2
    return parts
