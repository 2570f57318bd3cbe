import os
import sys

import pytest

from geeps_caffe.data import open_database
from geeps_caffe.data.database_writer import DatabaseWriter
from geeps_caffe.errors import DataError, InputError


@pytest.fixture(params=["lmdb", "leveldb"])
def backend(request):
    return request.param


def test_what_is_put_can_be_read(tmp_path, backend):
    path = str(tmp_path / "deep" / "db")
    with DatabaseWriter(path, backend) as writer:
        for n in range(2500):
            writer.put(f"{n:05d}", b"%d" % n)
        writer.finish()
    database = open_database(path, backend)
    assert (len(database), bytes(database.read(2499))) == (2500, b"2499")
    database.close()
    assert os.listdir(tmp_path / "deep") == ["db"]


def test_nothing_is_left_of_a_conversion_that_fails(tmp_path, backend):
    with (
        pytest.raises(KeyError),
        DatabaseWriter(str(tmp_path / "db"), backend) as writer,
    ):
        writer.put("a", b"1")
        raise KeyError
    assert os.listdir(tmp_path) == []


def test_what_a_killed_run_left_is_replaced(tmp_path, backend):
    (tmp_path / "db.part").mkdir()
    (tmp_path / "db.part" / "data.mdb").write_bytes(b"half")
    with DatabaseWriter(str(tmp_path / "db"), backend) as writer:
        writer.put("a", b"1")
        writer.finish()
    database = open_database(str(tmp_path / "db"), backend)
    assert bytes(database.read(0)) == b"1"
    database.close()


def test_an_lmdb_grows_past_its_first_limit(tmp_path):
    path = str(tmp_path / "db")
    with DatabaseWriter(path, "lmdb", map_bytes=1 << 16) as writer:
        for n in range(100):
            writer.put(f"{n:03d}", bytes(10_000))
        writer.finish()
    database = open_database(path, "lmdb")
    assert len(database) == 100
    database.close()


def test_an_existing_database_is_refused(tmp_path, backend):
    with pytest.raises(InputError, match="exists already"):
        DatabaseWriter(str(tmp_path), backend)


def test_an_unknown_backend_is_refused(tmp_path):
    with pytest.raises(InputError, match="unknown backend 'lmbd'"):
        DatabaseWriter(str(tmp_path / "db"), "lmbd")


def test_a_place_that_can_not_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="can't be made"):
        DatabaseWriter(str(tmp_path / "file" / "db"), "lmdb")


def test_a_library_that_is_missing_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plyvel", None)
    with pytest.raises(DataError, match="pip install"):
        DatabaseWriter(str(tmp_path / "db"), "leveldb")
    assert os.listdir(tmp_path) == []
