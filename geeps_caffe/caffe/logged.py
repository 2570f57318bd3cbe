"""What a program that uses pycaffe's names logs, by Python's logging.

`geeps-caffe run` shows it in Caffe's form, and so does a program after `init_log`.
"""

import logging
import os
from dataclasses import replace

from geeps_caffe.execution.reports import Report
from geeps_caffe.glog import Line, Log, LogHandler, read_settings
from geeps_caffe.log_lines import lines_of

_LOG = logging.getLogger("geeps_caffe")


def init_log(level: int = 0, stderr: bool = False) -> None:
    """Log to standard error, in Caffe's form, what nets and solvers do from now on.

    Args:
        level: severities below are left out, 0 INFO to 3 FATAL; GLOG_minloglevel may
            say more.
        stderr: as in pycaffe; there are no log files in any case.
    """
    del stderr
    settings = read_settings(os.environ)
    if not any(isinstance(handler, LogHandler) for handler in _LOG.handlers):
        _LOG.addHandler(LogHandler(Log(replace(settings, only_stderr=True))))
    _LOG.setLevel(logging.INFO + 10 * max(level, settings.least))


def log(text: str) -> None:
    """Log a line of the program's own."""
    _write(Line("I", "_caffe.cpp:1", text))


def log_report(report: Report) -> None:
    """Log what a solver reports, as Caffe words it."""
    if _LOG.isEnabledFor(logging.INFO):
        for line in lines_of(report):
            _write(line)


def _write(line: Line) -> None:
    level = logging.INFO + 10 * line.level
    _LOG.log(level, "%s", line.text, extra={"where": line.where})
