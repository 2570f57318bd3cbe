"""What trains to the same bits on any number of workers; see `schedule.parts`."""

NAME = "parts"  # in Options.without
#: Learnable numbers of a net. Larger ones are left alone: it costs memory and time.
MOST_PARAMS = 1 << 20
LEAST, MOST = 16, 64  # records of a part; of more, too much would be one thread's


def halvings(records: int) -> int:
    """The power of 2 by which a batch is divided, into at least 16 records each.

    A part has as many records however many workers share the batch: its odd factor
    times a power of 2.

    >>> [halvings(n) for n in (64, 128, 100, 96, 12, 101)]
    [4, 8, 4, 4, 1, 1]
    """
    parts = 1
    while records % (2 * parts) == 0 and records // (2 * parts) >= LEAST:
        parts *= 2
    return parts


def count_parts(records: int) -> int:
    """In how many parts a batch is; 0: it is not parted.

    >>> [count_parts(n) for n in (64, 100, 96, 12, 101)]
    [4, 4, 4, 1, 0]
    """
    parts = halvings(records)
    return parts if records // parts <= MOST else 0
