"""Made-up records in place of a net's data layers: what a command line says of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from geeps_caffe.errors import UsageError


@dataclass(frozen=True)
class MadeUp:
    """How data layers are replaced.

    Attributes:
        records: shapes of one record by blob, such as {"data": (3, 227, 227)}, where
            they don't follow from the net or are to be others.
        batch: records in a batch, where the net's number is to be another.
        kind: "DummyData", or "Input" for tops that the caller fills.
    """

    records: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    batch: int | None = None
    kind: str = "DummyData"


def read_records(text: str) -> dict[str, tuple[int, ...]]:
    """Shapes of records as a command line has them; blanks or commas between blobs.

    >>> read_records("data=3,227,227,label=")
    {'data': (3, 227, 227), 'label': ()}

    Raises:
        UsageError: a text that is no blobs and numbers.
    """
    found: dict[str, tuple[int, ...]] = {}
    for entry in re.split(r"[\s,]+(?=[^\s,=]+=)", text.strip()):
        blob, equals, numbers = entry.partition("=")
        try:
            shape = tuple(int(number) for number in numbers.split(",") if numbers)
        except ValueError:
            shape = (0,)
        if not blob or not equals or any(extent < 1 for extent in shape):
            raise UsageError(
                f"{entry!r} is no shape of a record; expected a blob and its extents "
                "without the batch, such as data=3,227,227 (label= for single numbers)"
            )
        found[blob] = shape
    return found
