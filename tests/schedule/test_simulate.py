import pytest

from geeps_caffe.engines.engine import Layout
from geeps_caffe.schedule.costs import Costs
from geeps_caffe.schedule.instructions import Compute
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.program import Options, Program
from geeps_caffe.schedule.search import cost_aware
from geeps_caffe.schedule.simulate import simulate


def there_and_back(layers, nbytes=64):
    """Each layer writes an array; each is read again, in reverse order."""
    program = Program(Options())
    for i in range(layers):
        name = program.add(f"a{i}", (nbytes,), Layout("plain", nbytes), dtype="uint8")
        before = (("bottom0", f"a{i - 1}"),) if i else ()
        program.emit(Compute("forward", i, f"f{i}", (*before, ("top0", name))))
    for i in reversed(range(layers)):
        program.emit(Compute("backward", i, f"b{i}", (("bottom0", f"a{i}"),)))
    return program


def costs(program, speed, overlap=True):
    return Costs((1.0,) * len(program.instructions), speed, speed, overlap=overlap)


def test_without_swaps_a_step_is_what_it_computes():
    program = there_and_back(4)
    found = simulate(make_plan(program), costs(program, 64.0))
    assert (found.seconds, found.computing, found.speed) == (8, 8, 1)
    assert (found.moved, found.stalls) == (0, ())


def test_a_swap_that_nothing_hides_stalls_for_its_copies():
    plan = make_plan(there_and_back(3), 128)
    assert plan.moved_bytes == 2 * 64
    found = simulate(plan, costs(plan.program, 64.0))
    assert found.computing == 6
    assert found.busy["copy-in"] == found.busy["copy-out"] == 1
    assert found.seconds > found.computing
    assert found.stalls[0].seconds == 1
    assert "swap" in plan.instructions[found.stalls[0].cause].text


def test_copies_beside_computing_cost_nothing_if_there_is_room():
    program = there_and_back(8)
    planner = cost_aware(lambda p: costs(p, 64.0))
    plan = make_plan(program, 6 * 64, planner=planner)
    assert plan.moved_bytes > 0
    assert simulate(plan, costs(program, 64.0)).speed == pytest.approx(1)


def test_a_device_that_copies_itself_takes_the_time_of_both():
    plan = make_plan(there_and_back(3), 128)
    found = simulate(plan, costs(plan.program, 64.0, overlap=False))
    assert found.seconds == 6 + 2
    assert found.busy == {"compute": 8}


def test_faster_copies_are_never_slower():
    plan = make_plan(there_and_back(12), 3 * 64)
    times = [simulate(plan, costs(plan.program, s)).seconds for s in (16, 32, 64, 1e9)]
    assert times == sorted(times, reverse=True)
    assert times[-1] == pytest.approx(24)
