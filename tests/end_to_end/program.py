"""Runs the command line as users do: in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PREFIX = re.compile(r"^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ (\S+)\] ?")


def environment():
    """The present one, without log files, and with this source tree."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "GLOG_logtostderr": "1"}


def command(*arguments):
    return [sys.executable, "-m", "geeps_caffe", *arguments]


def run(folder, *arguments, code=0, **variables):
    """Run in `folder`; returns standard error. The exit code must be `code`."""
    done = subprocess.run(
        command(*arguments),
        cwd=folder,
        env={**environment(), **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, done.stderr
    return done.stderr


def start(folder, *arguments):
    """Start in `folder`; standard error is a pipe."""
    return subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )


def messages(text):
    """Lines without their prefixes."""
    return [PREFIX.sub("", line) for line in text.splitlines()]
