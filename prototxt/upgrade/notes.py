"""What an upgrade has to say: Caffe's own log messages, with their severity."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["I", "W", "E"]


@dataclass(frozen=True)
class Note:
    """One log message of an upgrade.

    Attributes:
        severity: I (information), W (warning) or E (error), as in Caffe's log.
        text: the message.
    """

    severity: Severity
    text: str
