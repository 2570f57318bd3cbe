"""`geeps-caffe` and `python -m geeps_caffe`: the command line in its own process."""

import sys

from geeps_caffe.collector import put_off as put_off_garbage


def start() -> int:
    """Run the command that the arguments name; returns the exit code.

    No garbage is looked for until it is imported: that took 80 ms of a start.
    """
    put_off_garbage()
    from geeps_caffe.cli import main  # noqa: PLC0415

    return main()


if __name__ == "__main__":
    sys.exit(start())
