import errno
import os

import pytest

from geeps_caffe.errors import InputError
from geeps_caffe.files import write_atomically, write_bytes, write_together
from tests.faulty_disk import FaultyDisk, Stop

STEPS = 6  # create, two writes, sync, rename, sync of the folder


def two_writes(file):
    file.write(b"new ")
    file.write(b"content")


def test_the_content_is_there_and_nothing_else(tmp_path):
    path = tmp_path / "a.caffemodel"
    write_atomically(path, two_writes)
    assert path.read_bytes() == b"new content"
    assert os.listdir(tmp_path) == ["a.caffemodel"]


@pytest.mark.parametrize("at", range(STEPS))
@pytest.mark.parametrize("fault", [OSError(errno.ENOSPC, "full"), Stop()])
def test_a_fault_at_any_step_leaves_one_whole_file(tmp_path, at, fault):
    path = tmp_path / "a.caffemodel"
    path.write_bytes(b"old content")
    with pytest.raises((InputError, Stop)):
        write_atomically(path, two_writes, FaultyDisk(at, fault))
    expected = b"new content" if at == STEPS - 1 else b"old content"
    assert path.read_bytes() == expected


def test_the_steps_are_as_many_as_are_tried(tmp_path):
    disk = FaultyDisk(STEPS, Stop())
    write_atomically(tmp_path / "a", two_writes, disk)
    assert disk.left == 0


@pytest.mark.parametrize("at", range(STEPS - 2))
def test_a_failed_write_leaves_no_part_behind(tmp_path, at):
    path = tmp_path / "a.caffemodel"
    with pytest.raises(InputError, match="is full; make room"):
        write_atomically(path, two_writes, FaultyDisk(at, OSError(errno.ENOSPC, "")))
    assert os.listdir(tmp_path) == []


def test_an_error_of_the_writer_passes_through(tmp_path):
    def broken(file):
        file.write(b"x")
        raise KeyError("blob")

    with pytest.raises(KeyError):
        write_atomically(tmp_path / "a", broken)
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"there is no folder .*snapshots"):
        write_bytes(tmp_path / "snapshots" / "a", b"x")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


PAIR = 12  # steps of two files: 4 each until they are on disk, then 2 each


@pytest.mark.parametrize("at", range(PAIR + 1))
def test_a_second_file_is_never_there_before_the_first(tmp_path, at):
    paths = [tmp_path / "weights", tmp_path / "state"]
    for path in paths:
        path.write_bytes(b"old")
    disk = FaultyDisk(at, Stop())
    if at < PAIR:
        with pytest.raises(Stop):
            write_together([(p, two_writes) for p in paths], disk)
    else:
        write_together([(p, two_writes) for p in paths], disk)
    new = [path.read_bytes() == b"new content" for path in paths]
    assert new == [at > 8, at > 10]


@pytest.mark.parametrize("at", range(9))
def test_a_full_disk_leaves_all_files_as_they_were(tmp_path, at):
    paths = [tmp_path / "weights", tmp_path / "state"]
    for path in paths:
        path.write_bytes(b"old")
    disk = FaultyDisk(at, OSError(errno.ENOSPC, ""))
    with pytest.raises(InputError, match="is full"):
        write_together([(p, two_writes) for p in paths], disk)
    assert [path.read_bytes() for path in paths] == [b"old", b"old"]
    assert sorted(os.listdir(tmp_path)) == ["state", "weights"]
