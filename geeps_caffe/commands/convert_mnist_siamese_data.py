"""convert_mnist_siamese_data: pairs of MNIST images, and whether they are alike."""

import logging
from collections.abc import Sequence

import numpy as np

from geeps_caffe.config.flags import Flag, parse, usage
from geeps_caffe.data.database_writer import WRITERS, DatabaseWriter
from geeps_caffe.data.datum import write_datum
from geeps_caffe.data.idx import read_digits
from geeps_caffe.data.order import below, draw, salt
from geeps_caffe.errors import EXIT_FAILURE

FLAGS = (
    Flag(
        "backend",
        "leveldb",
        "The kind of database to write: lmdb or leveldb",
        (*WRITERS,),
    ),
    Flag("seed", 1, "Seed of the random pairs"),
    Flag("help", False, "Show this help"),
)
_USAGE = """convert_mnist_siamese_data: Convert MNIST's files to a database of pairs.
Usage:
    convert_mnist_siamese_data [FLAGS] INPUT_IMAGE_FILE INPUT_LABEL_FILE OUTPUT_DB

A record has two channels, an image each, and label 1 if their digits are equal.

  Flags:
"""
_log = logging.getLogger(__name__)


def main(argv: Sequence[str]) -> int:
    """Write as many pairs as there are images."""
    line = parse(argv, FLAGS, "convert_mnist_siamese_data")
    if line.switch("help") or len(line.words) != 3:
        print(_USAGE + usage(FLAGS))
        return EXIT_FAILURE
    images, labels = read_digits(*line.words[:2])
    _log.info("A total of %d items.", len(images))
    _log.info("Rows: %d Cols: %d", *images.shape[1:])
    numbers = np.arange(len(images), dtype=np.int64)
    words = draw(numbers, line.integer("seed"), salt("siamese"))
    pairs = below(words[:, :2], len(images))
    with DatabaseWriter(line.words[2], line.text("backend")) as writer:
        for number, pair in enumerate(pairs):
            alike = labels[pair[0]] == labels[pair[1]]
            writer.put(f"{number:08d}", write_datum(images[pair], int(alike)))
        writer.finish()
    _log.info("Processed %d files.", len(images))
    return 0
