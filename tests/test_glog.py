import io
import logging
import os
import re
import time

import pytest

from geeps_caffe.errors import UsageError
from geeps_caffe.glog import (
    Line,
    Log,
    LogHandler,
    LogSettings,
    note,
    prefix,
    read_settings,
)

HELLO = Line("I", "solver.cpp:239", "hello")
ONLY = LogSettings(only_stderr=True)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class ClosedPipe(io.StringIO):
    def write(self, text):
        raise BrokenPipeError


def test_the_prefix_has_severity_moment_thread_and_place():
    moment = time.mktime((2017, 11, 30, 2, 0, 1, 0, 0, -1)) + 0.25
    line = Line("W", "net.cpp:86", "x")
    assert prefix(line, moment, 42) == "W1130 02:00:01.250000    42 net.cpp:86] "


def test_a_message_of_several_lines_has_one_prefix():
    stream = io.StringIO()
    Log(ONLY, stream).write(Line("I", "net.cpp:53", "first\nsecond\n"))
    first, second, end = stream.getvalue().split("\n")
    assert first.endswith("net.cpp:53] first")
    assert (second, end) == ("second", "")


def test_severities_below_the_least_are_dropped():
    stream = io.StringIO()
    log = Log(LogSettings(only_stderr=True, least=1), stream)
    log.write(HELLO)
    log.write(note("attention", "W"))
    assert [line[0] for line in stream.getvalue().splitlines()] == ["W"]


def test_without_also_stderr_only_high_severities_are_shown(tmp_path):
    stream = io.StringIO()
    log = Log(LogSettings(also_stderr=False, folder=str(tmp_path)), stream)
    for severity in "IWE":
        log.write(note("text", severity))
    log.close()
    assert [line[0] for line in stream.getvalue().splitlines()] == ["E"]


def test_each_severity_has_a_file_with_all_above_and_a_link(tmp_path):
    log = Log(LogSettings(folder=str(tmp_path)), io.StringIO())
    log.write(HELLO)
    log.write(note("attention", "W"))
    log.close()
    info = (tmp_path / "caffe.INFO").read_text().splitlines()
    assert info[0].startswith("Log file created at: ")
    assert info[1].startswith("Running on machine: ")
    assert [line[0] for line in info[3:]] == ["I", "W"]
    warning = (tmp_path / "caffe.WARNING").read_text().splitlines()
    assert [line[0] for line in warning[3:]] == ["W"]
    assert not (tmp_path / "caffe.ERROR").exists()
    target = os.readlink(tmp_path / "caffe.INFO")
    pattern = rf"caffe\..+\..+\.log\.INFO\.\d{{8}}-\d{{6}}\.{os.getpid()}"
    assert re.fullmatch(pattern, target)


def test_a_folder_that_is_not_there_is_named_once(tmp_path):
    stream = io.StringIO()
    log = Log(LogSettings(folder=str(tmp_path / "absent")), stream)
    log.write(HELLO)
    log.write(HELLO)
    assert stream.getvalue().count("no log file") == 1
    assert stream.getvalue().count("hello") == 2


def test_a_closed_pipe_does_not_stop_the_program():
    log = Log(ONLY, ClosedPipe())
    log.write(HELLO)
    log.write(HELLO)
    log.show_status("50%")
    log.close()


def test_the_status_stays_below_the_lines_of_a_terminal():
    stream = Terminal()
    log = Log(ONLY, stream)
    log.show_status("50%")
    log.write(HELLO)
    log.close()
    shown = stream.getvalue()
    assert shown.startswith("\r\x1b[K50%\r\x1b[KI")
    assert shown.endswith("hello\n50%\r\x1b[K")


def test_a_pipe_gets_no_status():
    stream = io.StringIO()
    log = Log(ONLY, stream)
    log.show_status("50%")
    log.close()
    assert stream.getvalue() == ""


def test_settings_come_from_the_variables_of_glog():
    environ = {
        "GLOG_logtostderr": "1",
        "GLOG_log_dir": "logs",
        "GLOG_minloglevel": "2",
        "GLOG_stderrthreshold": "3",
    }
    settings = read_settings(environ)
    assert settings == LogSettings(True, True, "logs", 2, 3)
    assert read_settings({}) == LogSettings()


def test_a_level_that_is_no_number_is_refused():
    with pytest.raises(UsageError, match="GLOG_minloglevel is 'all'"):
        read_settings({"GLOG_minloglevel": "all"})


def test_records_of_logging_become_lines():
    stream = io.StringIO()
    handler = LogHandler(Log(ONLY, stream))
    logger = logging.Logger("some")
    logger.addHandler(handler)
    logger.info("read %d records", 3)
    logger.warning("careful")
    first, second = stream.getvalue().splitlines()
    assert re.match(r"I\d{4} .* test_glog\.py:\d+\] read 3 records$", first)
    assert second[0] == "W"
