import errno
import os
from concurrent.futures import ThreadPoolExecutor

import lmdb
import pytest

from geeps_caffe.data.lmdb import Lmdb, explain
from geeps_caffe.errors import DataError
from tests.data.databases import make_database


def test_the_path_of_the_file_itself_will_do(tmp_path):
    path = make_database(tmp_path / "db", [b"a"])
    database = Lmdb(f"{path}/data.mdb")
    assert bytes(database.read(0)) == b"a"
    database.close()


def test_records_are_not_copied(tmp_path):
    database = Lmdb(make_database(tmp_path / "db", [b"a" * 5000]))
    assert isinstance(database.read(0), memoryview)
    database.close()


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EACCES, "see the rights"),
        (errno.ENOMEM, "ulimit -v"),
        (errno.ENOLCK, "copy the database to a local disk"),
        (errno.ENOSYS, "copy the database to a local disk"),
    ],
)
def test_errors_of_the_system_name_path_file_system_and_advice(
    tmp_path, number, advice
):
    said = explain(str(tmp_path), lmdb.Error(f"x: {os.strerror(number)}"))
    assert str(tmp_path) in said
    assert "mounted at /" in said
    assert advice in said


def test_a_file_that_is_cut_off_is_refused(tmp_path):
    """Reading what is mapped beyond its end would kill the process."""
    path = make_database(tmp_path / "db", [b"a" * 5000] * 20)
    os.truncate(f"{path}/data.mdb", 9 * 4096)
    with pytest.raises(DataError, match=r"is cut off: .* has 36,864 bytes"):
        Lmdb(path)


def test_only_pages_with_records_must_be_there(tmp_path):
    """LMDB itself writes such files: what a transaction gives back it leaves out."""
    with lmdb.open(str(tmp_path), map_size=1 << 20) as environment:
        write_and_give_back(environment)
    file = tmp_path / "data.mdb"
    assert file.stat().st_size > 40 * 4096
    os.truncate(file, 30 * 4096)
    database = Lmdb(str(tmp_path))
    assert bytes(database.read(0)) == b"kept"
    database.close()


def write_and_give_back(environment):
    """Leave one record, in a page before those of twenty that are no more."""
    with environment.begin(write=True) as transaction:
        for i in range(20):
            transaction.put(b"%02d" % i, b"x" * 5000)
    with environment.begin(write=True) as transaction:
        for i in range(20):
            transaction.delete(b"%02d" % i)
    for _ in range(4):  # a page can be taken again by the transaction after the next
        with environment.begin(write=True) as transaction:
            transaction.put(b"a", b"kept")


def test_an_empty_file_is_refused(tmp_path):
    path = make_database(tmp_path / "db", [b"a"])
    os.truncate(f"{path}/data.mdb", 0)
    with pytest.raises(DataError, match=r"data\.mdb is empty; make it again"):
        Lmdb(path)


def test_an_environment_that_other_code_has_open_is_told(tmp_path):
    path = make_database(tmp_path / "db", [b"a"])
    with (
        lmdb.open(path, readonly=True, lock=False),
        pytest.raises(DataError, match="other code in this process has opened it"),
    ):
        Lmdb(path)


def test_threads_may_open_and_close_one_database_at_any_time(tmp_path):
    path = make_database(tmp_path / "db", [b"a"])

    def use(again):
        database = Lmdb(path)
        first = bytes(database.read(0))
        if again % 2:
            database.close()  # else it is closed when it is collected
        return first

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(use, range(800)))) == 1
