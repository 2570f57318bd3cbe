from geeps_caffe.commands.caffe_flags import read_line
from geeps_caffe.commands.line_settings import log_settings, run_settings, stages_of
from geeps_caffe.glog import LogSettings


def test_no_stage_is_one_empty_stage():
    assert stages_of(read_line([], "train")) == ("",)
    assert stages_of(read_line(["-stage=a,b"], "train")) == ("a", "b")


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
