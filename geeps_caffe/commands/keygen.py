"""keygen: the key that the hosts of a cluster have in common."""

from collections.abc import Sequence
from pathlib import Path

from geeps_caffe.errors import UsageError
from geeps_caffe.paramserver.transport.keys import make_key, write_key


def main(argv: Sequence[str]) -> int:
    """Write a new key to the file that is named."""
    if len(argv) != 1 or argv[0].startswith("-"):
        raise UsageError("usage: geeps-caffe keygen FILE")
    write_key(Path(argv[0]), make_key())
    print(f"{argv[0]}: a new key; copy it to all hosts and give -key {argv[0]}")
    return 0
