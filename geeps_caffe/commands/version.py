"""version: which geeps-caffe this is; -verbose: what a bug report needs."""

from geeps_caffe.commands.environment import device_rows, show, version_rows
from geeps_caffe.config.flags import Flag, parse
from geeps_caffe.version import CAFFE_VERSION, VERSION

FLAGS = (
    Flag(
        "verbose", False, "Show the versions of libraries, the engine and the machine"
    ),
)


def main(argv: list[str]) -> int:
    """Print the version."""
    if not parse(argv, FLAGS).switch("verbose"):
        print(f"geeps-caffe version {VERSION} (for models of Caffe {CAFFE_VERSION})")
        return 0
    print(show(version_rows() + device_rows()))
    return 0
