"""How the learnable blobs of a net are put into tables."""

from dataclasses import dataclass

BUCKET_BYTES = 1 << 16  # about what is moved in the time that a message takes


@dataclass(frozen=True)
class Grouping:
    """A layer has a table of its own, but small ones that follow each other share one.

    A table is what waits and travels as one. GeePS counted layers instead of bytes.
    """

    single: bool = False  # one table for all, to compare with
    layers: int = 0  # so many learned layers each; 0: by bytes
    bucket: int = BUCKET_BYTES  # of layers that share a table, in float32
