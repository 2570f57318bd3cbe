"""The feed of a Data layer: Datum records of a database."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from geeps_caffe.data.database import Database, Record
from geeps_caffe.data.datum import Datum, DatumReader
from geeps_caffe.data.decode import Colour, decode, to_colour
from geeps_caffe.data.pictures import Pictures, arrange, write
from geeps_caffe.data.sampler import Batch
from geeps_caffe.data.transform import Transform
from geeps_caffe.device.array import Array, Shape
from geeps_caffe.errors import DataError


@dataclass(frozen=True)
class _Fetched:
    records: Sequence[Record]
    numbers: Array


class RecordFeed:
    """Reads records of `database`, decodes and transforms them."""

    def __init__(
        self, database: Database, transform: Transform, colour: Colour, tops: int
    ) -> None:
        self._database = database
        self._transform = transform
        self._colour = colour
        self._tops = tops
        self._reader = DatumReader()
        self._expected: Shape | None = None
        self._alone = threading.Lock()  # a database takes one call at a time

    def survey(self, batch_size: int) -> tuple[Shape, bool]:
        """The shape of an image after the crop, and whether sizes may vary.

        Looks at the first records and the last, so that a wrong mean, crop or
        number of channels is seen before training.

        Raises:
            DataError: a record is broken or does not fit; it is named.
        """
        first = self._read(self._database.read(0), 0)
        image = self._image(first, 0)
        varies = batch_size == 1 and not self._transform.crop
        shape = self._transform.output(image.shape)
        self._expected = None if varies else shape
        for number in self._database.samples():
            self._check(number, shape)
        return shape, varies

    def fetch(self, batch: Batch) -> _Fetched:
        """See Feed."""
        with self._alone:
            records = self._database.read_all(batch.records.tolist())
        return _Fetched(records, batch.records)

    def decode(self, batch: Batch, fetched: _Fetched) -> Pictures:
        """See Feed."""
        del batch
        images, labels = self._alike(fetched) or self._one_by_one(fetched)
        return arrange(
            images,
            labels,
            self._transform,
            self._tops,
            self._expected,
            lambda i: self.name(fetched.numbers[i]),
        )

    def write(self, batch: Batch, decoded: Pictures, tops: Sequence[Array]) -> None:
        """See Feed."""
        write(self._transform, batch, decoded, tops)

    def close(self) -> None:
        """See Feed."""
        self._database.close()

    def _check(self, number: int, shape: Shape) -> None:
        image = self._image(self._read(self._database.read(number), number), number)
        arrange(
            [image],
            [0],
            self._transform,
            1,
            self._expected,
            lambda _: self.name(number),
        )

    def _alike(self, fetched: _Fetched) -> tuple[list[Array], list[int]] | None:
        """The images and labels of raw records of one size; None if they are not."""
        if self._colour is not Colour.NATIVE:
            return None
        return self._reader.read_alike(fetched.records)

    def _one_by_one(self, fetched: _Fetched) -> tuple[list[Array], list[int]]:
        both = list(zip(fetched.records, fetched.numbers.tolist(), strict=True))
        data = [self._read(record, i) for record, i in both]
        images = [self._image(d, i) for d, (_, i) in zip(data, both, strict=True)]
        return images, [d.label for d in data]

    def _read(self, record: Record, number: Any) -> Datum:
        try:
            return self._reader.read(record)
        except ValueError as error:
            raise DataError(f"{self.name(number)}: {error}") from error

    def _image(self, datum: Datum, number: Any) -> Array:
        if datum.pixels is not None:
            plain = self._colour is Colour.NATIVE
            return datum.pixels if plain else to_colour(datum.pixels, self._colour)
        assert datum.encoded is not None
        try:
            return decode(datum.encoded, self._colour)
        except ValueError as error:
            raise DataError(f"{self.name(number)}: {error}") from error

    def name(self, number: Any) -> str:
        """See Feed: its key in the database."""
        with self._alone:
            key = self._database.key(int(number))
        return f"record {int(number)} (key {key!r}) of {self._database.path!r}"
