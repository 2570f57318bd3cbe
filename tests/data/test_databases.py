"""What holds for LMDB and LevelDB alike."""

import contextlib
import os
import shutil

import numpy as np
import pytest

from geeps_caffe.data import open_database
from geeps_caffe.data.leveldb import plyvel
from geeps_caffe.errors import DataError
from tests.data.databases import make_database

BACKENDS = ["lmdb", "leveldb"]
COUNT = 200


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@pytest.fixture
def path(tmp_path, backend):
    return make_database(tmp_path / "db", [b"%d" % n for n in range(COUNT)], backend)


@pytest.fixture
def database(path, backend):
    database = open_database(path, backend)
    yield database
    database.close()


def test_records_come_in_order_and_start_again_at_the_end(database):
    read = [bytes(database.read(n)) for n in range(2 * COUNT)]
    assert read == 2 * [b"%d" % n for n in range(COUNT)]


def test_records_can_be_read_in_any_order(database, rng):
    for n in rng.integers(0, 3 * COUNT, 100).tolist():
        assert bytes(database.read(n)) == b"%d" % (n % COUNT)
        assert database.key(n) == f"{n % COUNT:04d}"


def test_several_records_can_be_read_at_once(database):
    for numbers in (range(7), [5, 3, 7], range(2, 100, 3), range(95, 205), [399, 400]):
        for before in (0, 50, 199):
            database.read(before)
            found = [bytes(record) for record in database.read_all(list(numbers))]
            assert found == [b"%d" % (n % COUNT) for n in numbers]
            assert bytes(database.read(numbers[-1])) == found[-1]


def test_every_nth_record_can_be_read_far_past_the_end(database):
    for n in range(1, 5 * COUNT, 3):
        assert bytes(database.read(n)) == b"%d" % (n % COUNT)


def test_it_knows_its_length_and_some_samples(database):
    assert len(database) == COUNT
    assert database.samples()[0] == 0


def test_two_readers_share_a_database_in_one_process(path, backend, database):
    other = open_database(path, backend)
    assert bytes(other.read(3)) == b"3"
    other.close()
    assert bytes(database.read(4)) == b"4"


def test_nothing_is_written_beside_the_data(path, backend):
    before = {name: os.stat(f"{path}/{name}").st_mtime_ns for name in os.listdir(path)}
    database = open_database(path, backend)
    database.read(5)
    database.close()
    after = {name: os.stat(f"{path}/{name}").st_mtime_ns for name in os.listdir(path)}
    assert after == before


def test_a_missing_path_is_told_with_near_names(path, backend, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as refused:
        open_database("db_", backend)
    said = str(refused.value)
    assert "database not found: 'db_'" in said
    assert f"that is '{tmp_path}/db_'" in said
    assert f"working directory '{tmp_path}'" in said
    assert "near names there: 'db'" in said


def test_a_database_of_the_other_kind_is_recognised(path, backend):
    (other,) = set(BACKENDS) - {backend}
    with pytest.raises(DataError, match=f"write `backend: {backend.upper()}`"):
        open_database(path, other)


def test_a_folder_with_other_files_is_refused(tmp_path, backend):
    with pytest.raises(DataError, match="is no L"):
        open_database(str(tmp_path), backend)


def test_an_empty_database_is_refused(tmp_path, backend):
    path = make_database(tmp_path / "db", [], backend)
    with pytest.raises(DataError, match="holds no records"):
        open_database(path, backend)


def test_a_damaged_database_is_refused(path, backend):
    name = "data.mdb" if backend == "lmdb" else "CURRENT"
    with open(f"{path}/{name}", "wb") as file:
        file.write(b"no page of either database")
    with pytest.raises(DataError, match=r"can't be opened: .*make (it|the database) a"):
        open_database(path, backend)


def test_a_pointer_in_the_place_of_an_lmdb_is_named(path, backend):
    if backend == "lmdb":
        with open(f"{path}/data.mdb", "wb") as file:
            file.write(b"version https://git-lfs.github.com/spec/v1\n")
        with pytest.raises(DataError, match=r"data\.mdb is a pointer of Git LFS"):
            open_database(path, backend)


def test_damage_within_is_told_when_it_is_met(tmp_path, backend, rng):
    records = [rng.bytes(5000) for _ in range(2000)]
    path = make_database(tmp_path / "db", records, backend)
    if backend == "leveldb":  # from its log to tables
        with contextlib.closing(plyvel().DB(path)) as written:
            written.compact_range()
    files = [f for f in (tmp_path / "db").iterdir() if f.suffix in (".mdb", ".ldb")]
    for file in files:
        content = np.fromfile(file, np.uint8)
        content[2 << 14 :] ^= 0x55  # all but some first pages
        content.tofile(file)
    with pytest.raises(DataError, match=r"is damaged: .*make it again"):
        list(map(open_database(path, backend).read, range(2000)))


def test_a_database_that_is_in_use_elsewhere_can_be_read(corpus, tmp_path):
    shutil.copytree(corpus / "golden/data/leveldb_raw", tmp_path / "db")
    os.chmod(tmp_path / "db", 0o755)
    one, two = (open_database(str(tmp_path / "db"), "leveldb") for _ in range(2))
    assert one.read(0) == two.read(0)
    one.close()
    two.close()
