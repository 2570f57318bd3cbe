"""Files in which the walk must follow branches, large values and trees within."""

import os

import lmdb
import pytest

from geeps_caffe.data.lmdb_pages import is_whole

PAGE = 4096
LARGE = 50  # pages


def many(environment):
    """Leaves below two levels of branches."""
    with environment.begin(write=True) as transaction:
        for i in range(3000):
            transaction.put(b"%0400d" % i, b"x" * 100)


def large(environment):
    """A value that takes all pages but a few."""
    with environment.begin(write=True) as transaction:
        transaction.put(b"a", b"x" * (LARGE * PAGE - 16))


def within(environment):
    """A tree of its own under a key."""
    inner = environment.open_db(b"inner")
    with environment.begin(write=True, db=inner) as transaction:
        for i in range(1000):
            transaction.put(b"%04d" % i, b"x" * 100)


@pytest.mark.parametrize("write", [many, large, within])
def test_a_file_lacks_records_wherever_it_is_cut_off(tmp_path, write):
    with lmdb.open(str(tmp_path), map_size=1 << 24, max_dbs=1) as environment:
        write(environment)
    file = str(tmp_path / "data.mdb")
    pages = os.path.getsize(file) // PAGE
    assert is_whole(file, PAGE)
    for kept in (pages - 3, pages // 2, 3):  # the last may hold what pages are free
        os.truncate(file, kept * PAGE + 100)
        assert not is_whole(file, PAGE)


def test_a_database_without_records_is_whole(tmp_path):
    lmdb.open(str(tmp_path)).close()
    assert is_whole(str(tmp_path / "data.mdb"), PAGE)
