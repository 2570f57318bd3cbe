"""How the command line runs a tool: its log lines go where glog's would."""

import logging
import os
from collections.abc import Callable

from geeps_caffe.glog import Log, LogHandler, LogSettings, read_settings


def run_tool(main: Callable[[list[str]], int], argv: list[str]) -> int:
    """Run `main` with messages of Python's logging as log lines."""
    found = read_settings(os.environ)
    settings = LogSettings(only_stderr=not found.folder, folder=found.folder)
    log = Log(settings)
    handler = LogHandler(log)
    logger = logging.getLogger("geeps_caffe")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        return main(argv)
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
        log.close()
