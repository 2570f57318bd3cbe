import logging
import re

from geeps_caffe.commands.script import LogLine, run
from geeps_caffe.errors import DataError


def test_a_log_line_has_the_form_of_glog():
    record = logging.LogRecord("n", logging.ERROR, "a.py", 7, "%d files", (3,), None)
    line = LogLine().format(record)
    assert re.fullmatch(r"E\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ a\.py:7\] 3 files", line)


def test_an_error_becomes_one_line_and_an_exit_code(capsys):
    def main(argv):
        raise DataError("no such thing")

    assert run(main) == 3
    assert capsys.readouterr().err == "no such thing\n"


def test_messages_go_to_stderr(capsys):
    def main(argv):
        logging.getLogger("geeps_caffe.x").info("working")
        return 0

    assert run(main) == 0
    assert capsys.readouterr().err.endswith("] working\n")
