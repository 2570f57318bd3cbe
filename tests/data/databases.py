"""Small databases for tests."""

import numpy as np

from geeps_caffe.data.database_writer import DatabaseWriter
from geeps_caffe.data.datum import write_datum


def make_database(path, records, backend="lmdb"):
    """A database with these values, keys 0000, 0001, ...; returns its path."""
    with DatabaseWriter(str(path), backend) as writer:
        for number, record in enumerate(records):
            writer.put(f"{number:04d}", record)
        writer.finish()
    return str(path)


def numbered(count):
    """Records of 1x1x1 whose label is their number."""
    pixel = np.zeros((1, 1, 1), np.uint8)
    return [write_datum(pixel, n) for n in range(count)]
