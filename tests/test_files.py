import errno
import os

import pytest

from geeps_caffe.errors import InputError
from geeps_caffe.files import Disk, write_atomically, write_bytes


class Stop(BaseException):
    """The program is gone: nothing runs any more."""


class FaultyDisk:
    """A disk on which step number `at` fails with `fault`, after half of its work."""

    def __init__(self, at, fault):
        self.disk = Disk()
        self.left = at
        self.fault = fault
        self.gone = False

    def step(self, half=lambda: None):
        if self.gone:
            raise self.fault
        self.left -= 1
        if self.left < 0:
            self.gone = isinstance(self.fault, Stop)
            half()
            raise self.fault

    def create(self, path):
        self.step()
        return FaultyFile(self.disk.create(path), self)

    def sync(self, file):
        self.step()
        self.disk.sync(file.file)

    def rename(self, old, new):
        self.step()
        self.disk.rename(old, new)

    def sync_folder(self, path):
        self.step()
        self.disk.sync_folder(path)

    def remove(self, path):
        if self.gone:
            raise self.fault
        self.disk.remove(path)


class FaultyFile:
    def __init__(self, file, disk):
        self.file = file
        self.disk = disk

    def write(self, content):
        self.disk.step(half=lambda: self.file.write(content[: len(content) // 2]))
        self.file.write(content)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.file.close()


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
