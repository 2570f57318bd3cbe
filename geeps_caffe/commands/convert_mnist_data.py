"""convert_mnist_data: a database of Datum records from MNIST's IDX files."""

import logging
from collections.abc import Sequence

from geeps_caffe.config.flags import Flag, parse, usage
from geeps_caffe.data.database_writer import WRITERS, DatabaseWriter
from geeps_caffe.data.datum import write_datum
from geeps_caffe.data.idx import read_digits
from geeps_caffe.device.array import Array
from geeps_caffe.errors import EXIT_FAILURE

FLAGS = (
    Flag(
        "backend", "lmdb", "The kind of database to write: lmdb or leveldb", (*WRITERS,)
    ),
    Flag("help", False, "Show this help"),
)
_USAGE = """convert_mnist_data: Convert MNIST's files to a database that Caffe reads.
Usage:
    convert_mnist_data [FLAGS] INPUT_IMAGE_FILE INPUT_LABEL_FILE OUTPUT_DB

The files may be compressed (.gz).

  Flags:
"""
_log = logging.getLogger(__name__)


def main(argv: Sequence[str]) -> int:
    """Convert all images."""
    line = parse(argv, FLAGS, "convert_mnist_data")
    if line.switch("help") or len(line.words) != 3:
        print(_USAGE + usage(FLAGS))
        return EXIT_FAILURE
    images, labels = read_digits(*line.words[:2])
    write_digits(images, labels, line.words[2], line.text("backend"))
    return 0


def write_digits(images: Array, labels: Array, database: str, backend: str) -> None:
    """Write images (N, rows, columns), uint8, and their labels as Caffe's tool does."""
    with DatabaseWriter(database, backend) as writer:
        _log.info("Opened %s %s", backend, database)
        _log.info("A total of %d items.", len(images))
        _log.info("Rows: %d Cols: %d", *images.shape[1:])
        for number, (image, label) in enumerate(zip(images, labels, strict=True)):
            writer.put(f"{number:08d}", write_datum(image[None], int(label)))
        writer.finish()
    _log.info("Processed %d files.", len(images))
