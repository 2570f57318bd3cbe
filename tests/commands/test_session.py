import logging

from geeps_caffe.commands.caffe_flags import read_line
from geeps_caffe.commands.session import open_session
from geeps_caffe.glog import Line
from geeps_caffe.net_lines import FIRST_ONLY


def test_a_place_that_logs_once_logs_once(capsys):
    with open_session(read_line(["-logtostderr"], "train")) as session:
        session.tell([Line("I", FIRST_ONLY, "class"), Line("I", "a.cpp:1", "line")] * 2)
    said = capsys.readouterr().err
    assert (said.count("class"), said.count("line")) == (1, 2)


def test_messages_of_modules_come_into_the_log(capsys):
    with open_session(read_line(["-logtostderr"], "train")) as session:
        logging.getLogger("geeps_caffe.some").info("read")
        session.warn("careful")
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("] read")
    assert second.startswith("W")
    assert not logging.getLogger("geeps_caffe").handlers
