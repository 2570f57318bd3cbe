"""device_query: what there is to compute with."""

from geeps_caffe.commands.caffe_flags import read_line
from geeps_caffe.commands.environment import device_rows, show
from geeps_caffe.commands.session import open_session


def main(argv: list[str]) -> int:
    """Log Caffe's line, print the devices."""
    line = read_line(argv, "device_query")
    with open_session(line) as session:
        session.say("caffe.cpp:138", f"Querying GPUs {line.text('gpu')}")
    print(show(device_rows()))
    return 0
