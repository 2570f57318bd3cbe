"""upgrade_solver_proto_text: a solver's prototxt to the present format."""

from collections.abc import Sequence

from geeps_caffe.commands.upgrade import run_upgrade
from geeps_caffe.glog import Line
from prototxt.upgrade.tools import upgrade_solver_text

_USAGE = Line(
    "E",
    "upgrade_solver_proto_text.cpp:22",
    "Usage: upgrade_solver_proto_text old_solver_proto_file_in solver_proto_file_out",
)


def main(argv: Sequence[str]) -> int:
    """Upgrade the file."""
    return run_upgrade(argv, _USAGE, upgrade_solver_text)
