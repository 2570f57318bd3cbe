import gzip

import numpy as np
import pytest

from geeps_caffe.commands.convert_mnist_data import main
from geeps_caffe.data import open_database
from geeps_caffe.errors import DataError
from prototxt.schema import Datum


def idx(array):
    head = (0x800 | array.ndim).to_bytes(4, "big")
    return head + np.array(array.shape, ">i4").tobytes() + array.tobytes()


@pytest.fixture
def digits(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    images = rng.integers(0, 256, (3, 4, 5), np.uint8)
    with open("images", "wb") as file:
        file.write(idx(images))
    with gzip.open("labels.gz", "wb") as file:
        file.write(idx(np.array([7, 0, 9], np.uint8)))
    return images


@pytest.mark.parametrize("backend", ["lmdb", "leveldb"])
def test_records_hold_what_caffes_tool_writes(digits, backend):
    assert main(["--backend", backend, "images", "labels.gz", "db"]) == 0
    database = open_database("db", backend)
    assert [database.key(i) for i in range(3)] == ["00000000", "00000001", "00000002"]
    datum = Datum.FromString(bytes(database.read(2)))
    assert (datum.channels, datum.height, datum.width, datum.label) == (1, 4, 5, 9)
    assert datum.data == digits[2].tobytes()
    assert not datum.HasField("encoded")
    database.close()


def test_the_ending_gz_may_be_left_out(digits):
    assert main(["images", "labels", "db"]) == 0


def test_swapped_files_are_refused(digits):
    with pytest.raises(
        DataError, match=r"no IDX file of images: .* 2049, expected 2051"
    ):
        main(["labels.gz", "images", "db"])


def test_files_of_different_length_are_refused(digits):
    with open("two", "wb") as file:
        file.write(idx(np.zeros(2, np.uint8)))
    with pytest.raises(DataError, match="3 images, 'two' has 2 labels"):
        main(["images", "two", "db"])


def test_a_file_that_is_cut_off_is_refused(digits):
    with open("images", "r+b") as file:
        file.truncate(50)
    with pytest.raises(DataError, match=r"cut off: it says shape \(3, 4, 5\)"):
        main(["images", "labels.gz", "db"])


@pytest.mark.slow
def test_the_real_mnist_becomes_a_database(corpus, tmp_path):
    folder = corpus / "data/mnist"
    files = [folder / f"t10k-{n}-ubyte" for n in ("images-idx3", "labels-idx1")]
    assert main([*map(str, files), str(tmp_path / "db")]) == 0
    database = open_database(str(tmp_path / "db"), "lmdb")
    labels = [Datum.FromString(bytes(database.read(i))).label for i in range(10)]
    assert (len(database), labels) == (10000, [7, 2, 1, 0, 4, 1, 4, 9, 5, 9])
    database.close()
