"""convert_cifar_data: databases of Datum records from CIFAR-10's binary batches."""

import logging
import os
from collections.abc import Iterable, Sequence

import numpy as np

from geeps_caffe.config.flags import Flag, parse, usage
from geeps_caffe.data.database_writer import WRITERS, DatabaseWriter
from geeps_caffe.data.datum import write_datum
from geeps_caffe.data.idx import read_compressed
from geeps_caffe.device.array import Array
from geeps_caffe.errors import EXIT_FAILURE, DataError, UsageError, unknown

FLAGS = (Flag("help", False, "Show this help"),)
_USAGE = """convert_cifar_data: Convert CIFAR-10's binary files to databases.
Usage:
    convert_cifar_data INPUT_FOLDER OUTPUT_FOLDER DB_TYPE

DB_TYPE is lmdb or leveldb. The files may be compressed (.gz, .xz).

  Flags:
"""
_IMAGE = (3, 32, 32)
_RECORD_BYTES = 1 + 3 * 32 * 32  # label, then the planes R, G, B
_log = logging.getLogger(__name__)


def main(argv: Sequence[str]) -> int:
    """Write cifar10_train_TYPE and cifar10_test_TYPE."""
    line = parse(argv, FLAGS, "convert_cifar_data")
    if line.switch("help") or len(line.words) != 3:
        print(_USAGE + usage(FLAGS))
        return EXIT_FAILURE
    source, target, backend = line.words
    if backend not in WRITERS:
        raise UsageError(unknown("DB_TYPE", backend, WRITERS))
    _log.info("Writing Training data")
    training = [f"data_batch_{n}.bin" for n in range(1, 6)]
    _write(source, training, os.path.join(target, f"cifar10_train_{backend}"), backend)
    _log.info("Writing Testing data")
    testing = ["test_batch.bin"]
    _write(source, testing, os.path.join(target, f"cifar10_test_{backend}"), backend)
    return 0


def _write(folder: str, files: Iterable[str], database: str, backend: str) -> None:
    with DatabaseWriter(database, backend) as writer:
        _log.info("Opened %s %s", backend, database)
        for file in files:
            _log.info("Reading %s", file)
            for record in _read(os.path.join(folder, file)):
                datum = write_datum(record[1:].reshape(_IMAGE), int(record[0]))
                writer.put(f"{writer.written:05d}", datum)
        writer.finish()
    _log.info("Processed %d files.", writer.written)


def _read(path: str) -> Array:
    """The records of one file, uint8 of shape (N, 3073)."""
    content = np.frombuffer(read_compressed(path), np.uint8)
    if not content.size or content.size % _RECORD_BYTES:
        raise DataError(
            f"{path!r} is no binary CIFAR-10 file: its {content.size} bytes are no "
            f"multiple of {_RECORD_BYTES}"
        )
    return content.reshape(-1, _RECORD_BYTES)
