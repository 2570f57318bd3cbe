"""compute_image_mean: the mean image of a database, and the mean of each channel."""

import logging
from collections.abc import Sequence

import numpy as np

from geeps_caffe.config.flags import Flag, parse, usage
from geeps_caffe.data import Database, open_database
from geeps_caffe.data.database_writer import WRITERS
from geeps_caffe.data.datum import DatumReader
from geeps_caffe.data.decode import Colour, decode
from geeps_caffe.data.mean import write_mean
from geeps_caffe.device.array import Array
from geeps_caffe.errors import EXIT_FAILURE, DataError
from geeps_caffe.files import write_bytes

FLAGS = (
    Flag("backend", "lmdb", "The kind of database: lmdb or leveldb", (*WRITERS,)),
    Flag("help", False, "Show this help"),
)
_USAGE = """compute_image_mean: Compute the mean image of a database.
Usage:
    compute_image_mean [FLAGS] INPUT_DB [OUTPUT_FILE]

  Flags:
"""
_log = logging.getLogger(__name__)


def main(argv: Sequence[str]) -> int:
    """Compute the mean and write it to OUTPUT_FILE if one is given."""
    line = parse(argv, FLAGS, "compute_image_mean")
    if line.switch("help") or not 1 <= len(line.words) <= 2:
        print(_USAGE + usage(FLAGS))
        return EXIT_FAILURE
    database = open_database(line.words[0], line.text("backend"))
    _log.info("Opened %s %s", line["backend"], line.words[0])
    try:
        mean = mean_of(database)
    finally:
        database.close()
    if len(line.words) > 1:
        _log.info("Write to %s", line.words[1])
        write_bytes(line.words[1], write_mean(mean))
    _log.info("Number of channels: %d", len(mean))
    for channel, value in enumerate(mean.mean(axis=(1, 2))):
        _log.info("mean_value channel [%d]: %s", channel, format(value, "g"))
    return 0


def mean_of(database: Database) -> Array:
    """The mean image of all records, float64 (C, H, W).

    Raises:
        DataError: a record is broken, or has another size than the first.
    """
    images = _Images(database)
    total = images.read(0).astype(np.float64)
    count = len(database)
    _log.info("Starting iteration")
    for number in range(1, count):
        image = images.read(number)
        if image.shape != total.shape:
            raise DataError(
                f"{images.name(number)} has shape {image.shape}, the first "
                f"{total.shape}; all images need the same size"
            )
        total += image
        if (number + 1) % 10000 == 0:
            _log.info("Processed %d files.", number + 1)
    if count % 10000:
        _log.info("Processed %d files.", count)
    return total / count


class _Images:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._reader = DatumReader()
        self._decoding = False

    def read(self, number: int) -> Array:
        try:
            datum = self._reader.read(self._database.read(number))
            if datum.encoded is None:
                assert datum.pixels is not None
                return datum.pixels
            if not self._decoding:
                self._decoding = True
                _log.info("Decoding Datum")
            return decode(datum.encoded, Colour.NATIVE)
        except ValueError as error:
            raise DataError(f"{self.name(number)}: {error}") from error

    def name(self, number: int) -> str:
        return (
            f"record {number} (key {self._database.key(number)!r}) of "
            f"{self._database.path!r}"
        )
