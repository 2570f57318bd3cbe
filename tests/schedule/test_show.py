from geeps_caffe.engines.reference.engine import ReferenceEngine
from geeps_caffe.schedule.check import find_faults
from geeps_caffe.schedule.instructions import Fill
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.show import show_plan, summary
from tests.schedule.nets import LENET, TINY, graph_of, program_of

SHOWN = """\
        0  pull      read table ip
        1  compute   forward ip [numpy]
                     < data                         2x3              plain                 24 @0
                     < ip/0                         4x3              plain                 48 table
                     < ip/1                         4                plain                 16 table
                     > ip                           2x4              plain                 32 @64
        2  pull      post_read table ip
        3  compute   forward relu [numpy]
                     < ip                           2x4              plain                 32 @64
                     > ip#1                         2x4              plain                 32 @64
"""  # noqa: E501


class Declines(ReferenceEngine):
    """Has no inner product."""

    def describe(self, request):
        found = super().describe(request)
        return None if type(request.operation).__name__ == "InnerProduct" else found


def lines_of(plan, start):
    return [line for line in summary(plan) if line.startswith(start)]


def test_a_line_for_each_instruction_and_each_of_its_arrays():
    plan = make_plan(program_of(graph_of(TINY)), share=False)
    assert show_plan(plan).startswith(SHOWN)


def test_the_totals_are_those_of_the_plan():
    program = program_of(graph_of(LENET))
    least = make_plan(program, share=True).least_bytes
    plan = make_plan(program, least)
    assert lines_of(plan, "arena")[0].endswith(f"{least:,} bytes of {least:,} allowed")
    assert f"{plan.total_bytes:,} bytes" in lines_of(plan, "arrays side by side")[0]
    assert f"{plan.moved_bytes:,} bytes by" in lines_of(plan, "moved in a step")[0]
    assert f"{plan.host_bytes:,} bytes" in lines_of(plan, "host memory")[0]


def test_the_largest_instructions_come_last_and_largest_first():
    plan = make_plan(program_of(graph_of(LENET)))
    found = lines_of(plan, "largest instruction")
    # conv1 makes 4x6x24x24 floats, pool1 a quarter of them and as large a mask.
    conv, data = 4 * 6 * 24 * 24 * 4, 4 * 28 * 28 * 4
    assert [line.split()[2] for line in found] == [
        f"{size:,}" for size in (conv * 6 // 4, conv * 6 // 4, conv + data)
    ]
    names = [line.split(": ")[1] for line in found]
    assert [name.removesuffix(" [numpy]") for name in names] == [
        "forward pool1",
        "backward pool1",
        "forward conv1",
    ]


def test_it_tells_which_layers_the_engine_does_not_compute():
    graph = graph_of(TINY)
    plan = make_plan(program_of(graph, Declines()))
    found = "\n".join(summary(plan, graph))
    assert "passes by the engine                2 of 6" in found
    assert "by definition                       2  ip (InnerProduct)" in found
    assert "by layer code                       2  loss (EuclideanLoss)" in found


def test_without_a_graph_layers_have_only_names():
    plan = make_plan(program_of(graph_of(TINY)))
    assert lines_of(plan, "by layer code")[0].endswith("2  loss")


def test_swaps_say_what_moves_and_where():
    program = program_of(graph_of(LENET))
    plan = make_plan(program, make_plan(program, share=True).least_bytes)
    shown = show_plan(plan).splitlines()
    position = next(i for i, line in enumerate(shown) if "swap out" in line)
    assert "copy-out" in shown[position]
    assert " bytes @" in shown[position + 1]
    assert "host @" in shown[position + 1]


def test_an_arrow_points_at_the_faulty_instruction():
    program = program_of(graph_of(TINY))
    fill = next(i for i, e in enumerate(program.instructions) if isinstance(e, Fill))
    del program.instructions[fill]
    plan = make_plan(program)
    fault = find_faults(plan)[0]
    shown = show_plan(plan, fault_at=fault.position).splitlines()
    marked = [line for line in shown if line.startswith("-->")]
    assert marked == [f"--> {fill:>5}  compute   backward loss [layer code]"]


def test_the_arrow_may_point_behind_the_last_instruction():
    plan = make_plan(program_of(graph_of(TINY)))
    shown = show_plan(plan, fault_at=len(plan.instructions))
    assert "\n-->  after the step\n" in shown.replace("--> after", "-->  after")
