"""upgrade_net_proto_text: a net's prototxt to the present format."""

from collections.abc import Sequence

from geeps_caffe.commands.upgrade import run_upgrade
from geeps_caffe.glog import Line
from prototxt.upgrade.tools import upgrade_net_text

_USAGE = Line(
    "E",
    "upgrade_net_proto_text.cpp:22",
    "Usage: upgrade_net_proto_text v0_net_proto_file_in net_proto_file_out",
)


def main(argv: Sequence[str]) -> int:
    """Upgrade the file."""
    return run_upgrade(argv, _USAGE, upgrade_net_text)
