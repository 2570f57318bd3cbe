from pathlib import Path

import pytest

from geeps_caffe.config.per_worker import FoundFile, find_file


@pytest.fixture
def have(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(*names):
        for name in names:
            (tmp_path / name).write_text("worker %")

    return make


def found(path, number=None, own=False):
    return FoundFile(Path(path), number, own)


def test_a_plain_file_needs_no_number(have):
    have("s.prototxt", "s.prototxt.2", "s.prototxt.template")
    assert find_file("s.prototxt", 2) == found("s.prototxt")


def test_a_workers_own_file_is_taken(have):
    have("s.prototxt.2")
    assert find_file("s.prototxt", 2) == found("s.prototxt.2", own=True)
    assert find_file("s.prototxt.2") == found("s.prototxt.2", own=True)


def test_a_template_stands_for_all_workers(have):
    have("s.prototxt.template")
    for name, worker in (("s.prototxt", 2), ("s.prototxt.2", None)):
        file = find_file(name, worker)
        assert file == found("s.prototxt.template", "2", own=True)
        assert file.expand("a_%.lmdb") == "a_2.lmdb"


def test_one_file_serves_all_who_ask_for_their_own(have):
    have("net.prototxt")
    assert find_file("net.prototxt.3") == found("net.prototxt")


def test_what_is_not_there_keeps_its_name(have):
    assert find_file("s.prototxt", 1) == found("s.prototxt")
