import pytest

from tests.commands.small_job import write_job


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A folder with net.prototxt and solver.prototxt; the test runs in it."""
    write_job(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GLOG_logtostderr", "1")
    return tmp_path
