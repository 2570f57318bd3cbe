import pytest

from geeps_caffe.commands.caffe_flags import (
    log_settings,
    read_line,
    require,
    run_settings,
    stages_of,
)
from geeps_caffe.errors import UsageError
from geeps_caffe.glog import LogSettings


@pytest.mark.parametrize(
    "spelling",
    [["-gpu", "0,1"], ["--gpu", "0,1"], ["-gpu=0,1"], ["--gpu=0,1"]],
)
def test_all_four_spellings_of_gflags(spelling):
    assert read_line(spelling, "train").text("gpu") == "0,1"


def test_caffes_flags_have_caffes_defaults():
    line = read_line([], "train")
    assert line.integer("iterations") == 50
    assert line.text("sigint_effect") == "stop"
    assert line.text("sighup_effect") == "snapshot"
    assert line.integer("level") == 0


def test_no_stage_is_one_empty_stage():
    assert stages_of(read_line([], "train")) == ("",)
    assert stages_of(read_line(["-stage=a,b"], "train")) == ("a", "b")


def test_a_missing_flag_is_asked_for():
    with pytest.raises(UsageError, match=r"Need a net\. Give -model FILE\."):
        require(read_line([], "time"), "model", "Need a net.")


def test_settings_of_a_run():
    flags = ["-engine=reference", "-dtype=float64", "-threads=3", "-seed=7"]
    settings = run_settings(read_line([*flags, "-reduce=sum"], "train"), 1, 2)
    assert (settings.engine, settings.dtype) == ("reference", "float64")
    assert (settings.threads, settings.seed) == (3, 7)
    assert (settings.rank, settings.ranks, settings.reduce) == (1, 2, "sum")


def test_workers_share_the_cores():
    assert run_settings(read_line([], "train"), 0, 1000).threads == 1
    assert run_settings(read_line([], "train")).seed is None


def test_flags_of_the_log_stand_before_the_variables():
    environ = {"GLOG_logtostderr": "1", "GLOG_log_dir": "a", "GLOG_minloglevel": "1"}
    plain = log_settings(read_line([], "train"), environ)
    assert plain == LogSettings(True, True, "a", 1, 2)
    flags = ["-nologtostderr", "-log_dir=b", "-minloglevel=0", "-alsologtostderr=0"]
    given = log_settings(read_line([*flags, "-stderrthreshold=3"], "train"), environ)
    assert given == LogSettings(False, False, "b", 0, 3)
