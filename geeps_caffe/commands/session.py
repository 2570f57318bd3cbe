"""What surrounds a command that logs: the log, and which outputs are shown."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from geeps_caffe.commands.line_settings import log_settings
from geeps_caffe.config.flags import CommandLine
from geeps_caffe.glog import Line, Log, LogHandler, note
from geeps_caffe.log_lines import MOST_OUTPUTS
from geeps_caffe.net_lines import FIRST_ONLY


class Session:
    """The log of one command."""

    def __init__(self, log: Log, most_outputs: int | None) -> None:
        self.log = log
        self.most_outputs = most_outputs  # numbers of a blob; None: all
        self._said: set[str] = set()

    def tell(self, lines: list[Line]) -> None:
        """Log lines; those of a place that logs once, once."""
        for line in lines:
            if line.where == FIRST_ONLY:
                if line.where in self._said:
                    continue
                self._said.add(line.where)
            self.log.write(line)

    def say(self, where: str, text: str) -> None:
        """Log one line of Caffe's."""
        self.log.write(Line("I", where, text))

    def warn(self, text: str) -> None:
        """Log advice that Caffe has not."""
        self.log.write(note(text, "W"))


@contextmanager
def open_session(line: CommandLine) -> Iterator[Session]:
    """Log to where flags and variables say; modules' own messages go there too."""
    log = Log(log_settings(line, os.environ))
    handler = LogHandler(log)
    logger = logging.getLogger("geeps_caffe")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield Session(log, None if line.switch("all_outputs") else MOST_OUTPUTS)
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
        log.close()
