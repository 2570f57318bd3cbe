import pytest

from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.read_ahead import read_ahead
from tests.schedule.nets import LENET, graph_of, program_of


def tables_of(program):
    """Forward's reads as "read t", its operations as names."""
    found = []
    for entry in program.instructions[: program.backward_start]:
        if entry.text.startswith("read table"):
            found.append(entry.text.replace("table ", ""))
        elif entry.text.startswith("forward"):
            found.append(entry.name)
    return [text for text in found if text.rstrip("12") in WANTED]


WANTED = {"read conv", "read ip", "conv", "ip"}


@pytest.mark.parametrize(
    "ahead, expected",
    [
        (0, "read conv1, conv1, read conv2, conv2, read ip1, ip1, read ip2, ip2"),
        (1, "read conv1, read conv2, conv1, read ip1, conv2, read ip2, ip1, ip2"),
        (9, "read conv1, read conv2, read ip1, read ip2, conv1, conv2, ip1, ip2"),
    ],
)
def test_a_table_is_read_where_one_before_it_was(ahead, expected):
    program = program_of(graph_of(LENET))
    read_ahead(program, ahead)
    assert tables_of(program) == expected.split(", ")
    assert check_plan(make_plan(program)) == []
    assert len(program.owners) == len(program.instructions)


def test_a_program_without_tables_stays_as_it_is():
    program = program_of(graph_of(LENET), tables=False)
    before = list(program.instructions)
    read_ahead(program)
    assert program.instructions == before


def test_with_a_param_cache_tables_are_read_ahead():
    program = program_of(graph_of(LENET), param_cache=ParamCache())
    expected = "read conv1, read conv2, read ip1, read ip2, conv1, conv2, ip1, ip2"
    assert tables_of(program) == expected.split(", ")
