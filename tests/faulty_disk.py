"""A disk on which a chosen step fails, half done."""

from geeps_caffe.files import Disk


class Stop(BaseException):
    """The program is gone: nothing runs any more."""


class FaultyDisk:
    """A disk on which step number `at` fails with `fault`, after half of its work.

    All later steps fail, too. Steps are creating, each write, forcing to disk,
    renaming and forcing the folder; a `Stop` also ends removing.
    """

    def __init__(self, at, fault):
        self.disk = Disk()
        self.fail(at, fault)

    def fail(self, at, fault):
        """From now on, the step after `at` good ones fails."""
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
    """A file on a faulty disk."""

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
