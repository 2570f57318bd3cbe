"""How a tool runs as a script: log lines like Caffe's, errors in one line."""

import logging
import os
import sys
import time
from collections.abc import Callable, Sequence

from geeps_caffe.errors import GeepsCaffeError

_log = logging.getLogger("geeps_caffe")


class LogLine(logging.Formatter):
    """`I1130 02:00:01.000001  4242 file.py:12] message`, as glog writes it."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        severity = "I" if record.levelno < logging.WARNING else record.levelname[0]
        moment = time.strftime("%m%d %H:%M:%S", time.localtime(record.created))
        micros = int(record.created % 1 * 1e6)
        where = f"{record.filename}:{record.lineno}"
        head = f"{severity}{moment}.{micros:06d} {os.getpid():5d} {where}]"
        return f"{head} {record.getMessage()}"


def run(main: Callable[[Sequence[str]], int]) -> int:
    """Run a tool with the program's arguments; returns its exit code."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogLine())
    _log.addHandler(handler)
    _log.setLevel(logging.INFO)
    try:
        return main(sys.argv[1:])
    except GeepsCaffeError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    finally:
        _log.removeHandler(handler)
