"""`geeps-caffe` and `python -m geeps_caffe`: the command line in its own process."""

import sys
import warnings

from geeps_caffe.collector import put_off as put_off_garbage


def start() -> int:
    """Run the command that the arguments name; returns the exit code.

    No garbage is looked for until it is imported: that took 80 ms of a start. NumPy's
    warnings of nan and overflow in our own code are not shown: the trainer says which
    layer made the first nan.
    """
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="geeps_caffe")
    put_off_garbage()
    from geeps_caffe.cli import main  # noqa: PLC0415

    return main()


if __name__ == "__main__":
    sys.exit(start())
