from geeps_caffe.schedule.instructions import Accumulate, Fill, Reorder
from geeps_caffe.schedule.passes.unread import drop_unread
from geeps_caffe.schedule.program import Options, Program
from tests.schedule.odd_engine import OddEngine
from tests.schedule.passes.texts import CONVOLUTION, INPUT, LOSS, lines, relu


def program(*instructions, **options):
    found = Program(Options(keep=frozenset({"kept"}), **options))
    for name in "abcd":
        found.add(name, (2,))
    found.data["kept"] = "d"
    for instruction in instructions:
        found.emit(instruction)
    return found


def texts(found):
    return [i.text for i in drop_unread(found, OddEngine()).instructions]


def test_what_leads_nowhere_is_left_out():
    found = program(Fill("a", 1), Reorder("a", "b"), Fill("c", 0), Reorder("c", "d"))
    assert texts(found) == ["fill c = 0", "reorder c -> d"]
    assert "a" not in drop_unread(found, OddEngine()).arrays


def test_what_lasts_from_step_to_step_stays():
    found = program(Fill("a", 1), Accumulate("a", "b"))
    assert not texts(found)
    found.persistent.add("b")
    assert texts(found) == ["fill a = 1", "accumulate a into b"]


def test_the_end_of_the_forward_pass_moves_with_what_is_left_out():
    found = program(Fill("a", 1), Fill("d", 0), Fill("d", 1))
    found.backward_start = 2
    rest = drop_unread(found, OddEngine())
    assert (len(rest.instructions), len(rest.owners), rest.backward_start) == (2, 2, 1)


def test_a_training_net_has_nothing_to_leave_out():
    text = INPUT + CONVOLUTION + relu("relu", "conv") + LOSS
    assert lines(text, "unread", engine=OddEngine()) == lines(
        text, "", engine=OddEngine()
    )
