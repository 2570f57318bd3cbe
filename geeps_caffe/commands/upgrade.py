"""What the three upgrade tools have in common: usage, notes as log lines, exit code."""

import os
from collections.abc import Callable, Sequence

from geeps_caffe.errors import EXIT_FAILURE
from geeps_caffe.glog import Line, Log, LogSettings, read_settings
from geeps_caffe.log_lines import upgrade_lines
from prototxt.upgrade.tools import Outcome


def run_upgrade(
    argv: Sequence[str], usage: Line, upgrade: Callable[[str, str], Outcome]
) -> int:
    """Upgrade the file argv[0] into argv[1].

    Returns:
        1 if the arguments are not two, or something of the old file could not be kept.
    """
    settings = read_settings(os.environ)
    log = Log(LogSettings(only_stderr=True, least=settings.least))
    if len(argv) != 2:
        log.write(usage)
        return EXIT_FAILURE
    outcome = upgrade(argv[0], argv[1])
    for line in upgrade_lines(outcome.notes):
        log.write(line)
    return 0 if outcome.complete else EXIT_FAILURE
