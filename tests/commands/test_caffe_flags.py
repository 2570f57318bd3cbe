import pytest

from geeps_caffe.commands.caffe_flags import read_line, require
from geeps_caffe.errors import UsageError


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


def test_a_missing_flag_is_asked_for():
    with pytest.raises(UsageError, match=r"Need a net\. Give -model FILE\."):
        require(read_line([], "time"), "model", "Need a net.")
