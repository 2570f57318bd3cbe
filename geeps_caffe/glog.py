"""Log lines in the form and at the places where glog, Caffe's logger, writes them.

    I1130 02:00:01.000001  4242 solver.cpp:239] Iteration 0 (...), loss = 2.3

Lines go to standard error and, unless GLOG_logtostderr is set, to files
`caffe.<host>.<user>.log.INFO.<date>-<time>.<pid>` with a link `caffe.INFO`, in
GLOG_log_dir or the folder for temporary files. The variables of glog are honoured:
GLOG_logtostderr, GLOG_alsologtostderr (Caffe sets it), GLOG_log_dir,
GLOG_minloglevel and GLOG_stderrthreshold.
"""

import contextlib
import logging
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO

from geeps_caffe.errors import UsageError

SEVERITIES = ("INFO", "WARNING", "ERROR", "FATAL")
PROGRAM = "caffe"  # scripts look for files of this name
_TRUE = ("1", "t", "true", "y", "yes")
_CLEAR = "\r\x1b[K"  # of a terminal: to the line's start, and erase it


@dataclass(frozen=True)
class Line:
    """A message, its severity (I, W, E or F), and where Caffe would log it."""

    severity: str
    where: str  # "solver.cpp:239"
    text: str

    @property
    def level(self) -> int:
        """0 for information to 3 for a fatal error."""
        return "IWEF".index(self.severity)


def note(text: str, severity: str = "I") -> Line:
    """A line that Caffe has not."""
    return Line(severity, "geeps_caffe.py:1", text)


@dataclass(frozen=True)
class LogSettings:
    """Where lines go."""

    only_stderr: bool = False  # no files
    also_stderr: bool = True  # all lines, whatever their severity
    folder: str = ""  # of the files; empty: the one for temporary files
    least: int = 0  # lower severities are not logged at all
    stderr_least: int = 2  # lower ones stay in the files, without also_stderr


def read_settings(environ: Mapping[str, str]) -> LogSettings:
    """The settings that glog's variables make.

    Raises:
        UsageError: a level that is no whole number.
    """
    return LogSettings(
        only_stderr=environ.get("GLOG_logtostderr", "").lower() in _TRUE,
        folder=environ.get("GLOG_log_dir", ""),
        least=_level(environ, "GLOG_minloglevel", 0),
        stderr_least=_level(environ, "GLOG_stderrthreshold", 2),
    )


def _level(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "") or str(default)
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{name} is {text!r}; expected 0, 1, 2 or 3") from None


def prefix(line: Line, moment: float, thread: int) -> str:
    """What stands before the message; `moment` in seconds since 1970.

    >>> os.environ["TZ"] = "UTC"; time.tzset()
    >>> prefix(Line("I", "solver.cpp:239", ""), 1512007201.000001, 4242)
    'I1130 02:00:01.000001  4242 solver.cpp:239] '
    """
    micros = round(moment * 1e6)
    when = time.strftime("%m%d %H:%M:%S", time.localtime(micros // 1000000))
    return f"{line.severity}{when}.{micros % 1000000:06d} {thread:5d} {line.where}] "


class Log:
    """Writes lines; what it can't write is lost, it never stops a training.

    Args:
        settings: where lines go.
        stream: standard error, or what stands for it.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        settings: LogSettings | None = None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings or LogSettings()
        self._stream: TextIO | None = sys.stderr if stream is None else stream
        self._clock, self._thread = clock, os.getpid()
        self._files: dict[int, IO[str]] = {}
        self._broken = False  # a file could not be made
        self._status = ""

    @property
    def terminal(self) -> bool:
        """Whether somebody looks at the lines as they come."""
        return self._stream is not None and self._stream.isatty()

    def write(self, line: Line) -> None:
        """Log a line; a message of several lines has one prefix."""
        if line.level < self.settings.least:
            return
        text = prefix(line, self._clock(), self._thread) + line.text.rstrip("\n") + "\n"
        if self._on_stderr(line.level):
            self._show(text)
        if not self.settings.only_stderr:
            self._file(line.level, text)

    def show_status(self, text: str) -> None:
        """Replace the terminal's last line; "" removes it."""
        if self.terminal and text != self._status:
            self._put((_CLEAR if self._status or text else "") + text)
            self._status = text

    def close(self) -> None:
        """Complete the files."""
        self.show_status("")
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.close()
        self._files.clear()

    # -- standard error --------------------------------------------------------

    def _on_stderr(self, level: int) -> bool:
        settings = self.settings
        all_lines = settings.only_stderr or settings.also_stderr
        return all_lines or level >= settings.stderr_least

    def _show(self, text: str) -> None:
        if self._status:
            text = _CLEAR + text + self._status
        self._put(text)

    def _put(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the reader of the pipe is gone, the disk full
            _silence(self._stream)
            self._stream = None

    # -- files -----------------------------------------------------------------

    def _file(self, level: int, text: str) -> None:
        for severity in range(level + 1):
            if severity not in self._files and not self._broken:
                self._open(severity)
            file = self._files.get(severity)
            if file is not None:
                with contextlib.suppress(OSError):
                    file.write(text)
                    file.flush()

    def _open(self, severity: int) -> None:
        folder = Path(self.settings.folder or tempfile.gettempdir())
        moment = time.localtime(self._clock())
        path = folder / file_name(SEVERITIES[severity], moment, self._thread)
        try:
            file = path.open("a", encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            self._broken = True
            self._show(f"no log file {path}: {error.strerror}\n")
            return
        self._files[severity] = file
        created = time.strftime("%Y/%m/%d %H:%M:%S", moment)
        file.write(
            f"Log file created at: {created}\n"
            f"Running on machine: {platform.node()}\n"
            "Log line format: [IWEF]mmdd hh:mm:ss.uuuuuu threadid file:line] msg\n"
        )
        _link(folder / f"{PROGRAM}.{SEVERITIES[severity]}", path)


def file_name(severity: str, moment: time.struct_time, pid: int) -> str:
    """`caffe.<host>.<user>.log.INFO.<date>-<time>.<pid>`."""
    when = time.strftime("%Y%m%d-%H%M%S", moment)
    return f"{PROGRAM}.{platform.node()}.{_user()}.log.{severity}.{when}.{pid}"


def _user() -> str:
    if "USER" in os.environ:
        return os.environ["USER"]
    try:
        import pwd  # noqa: PLC0415  not on Windows

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return "invalid-user"


def _link(link: Path, path: Path) -> None:
    """Point `caffe.INFO` to the newest file; where links can't be made, do without."""
    with contextlib.suppress(OSError):
        link.unlink(missing_ok=True)
        link.symlink_to(path.name)


def _silence(stream: TextIO) -> None:
    """Let what the interpreter flushes at its end go nowhere."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class LogHandler(logging.Handler):
    """Brings records of Python's logging into a Log."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.INFO)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record under its file and line, or its `where`."""
        level = min(max((record.levelno - logging.INFO) // 10, 0), 3)
        where = getattr(record, "where", f"{record.filename}:{record.lineno}")
        self._log.write(Line("IWEF"[level], where, record.getMessage()))
