"""Connections that are refused: the log hears of some."""

import logging

_LOG = logging.getLogger(__name__)
MOST_WARNINGS = 20  # the rest is not told of


class Strangers:
    """Counts what is refused, so that nobody from outside can fill the log."""

    def __init__(self) -> None:
        self._warnings = 0

    def warn(self, reason: str) -> None:
        """Tell the log, unless it was told too often."""
        self._warnings += 1
        if self._warnings <= MOST_WARNINGS:
            _LOG.warning("refused a connection: %s", reason)
        if self._warnings == MOST_WARNINGS:
            _LOG.warning("more refused connections will not be told of")
