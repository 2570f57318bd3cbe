from geeps_caffe.schedule.instructions import Accumulate, Compute, Fill
from geeps_caffe.schedule.lifetimes import lifetimes, touched
from geeps_caffe.schedule.program import Options, Program


def program(*instructions, keep=(), **arrays):
    """Float arrays by name and length; `b="a"` lies in the memory of a."""
    made = Program(Options(keep=frozenset(keep)))
    for name, size in arrays.items():
        if isinstance(size, str):
            made.add(name, made.arrays[size].shape, storage=size)
        else:
            made.add(name, (size,))
        made.data[name] = name
    for instruction in instructions:
        made.emit(instruction)
    return made


def forward(name, bottom, top):
    return Compute("forward", 0, name, (("bottom0", bottom), ("top0", top)))


def test_a_storage_is_touched_by_all_arrays_in_it():
    made = program(
        Fill("a", 0.0), forward("relu", "a", "b"), forward("ip", "b", "c"),
        a=3, b="a", c=5,
    )  # fmt: skip
    found = lifetimes(made)
    assert found["a"].touches == (0, 1, 2)
    assert found["a"].read == {1, 2}
    assert found["a"].written == {0, 1}
    assert (found["a"].nbytes, found["c"].nbytes) == (12, 20)


def test_only_what_is_asked_for_holds_its_values_after_the_step():
    made = program(Fill("a", 0.0), Fill("b", 0.0), keep=["b"], a=1, b=1)
    assert [life.to_after for life in lifetimes(made).values()] == [False, True]


def test_what_persists_is_there_before_and_after():
    made = program(Accumulate("a", "b"), a=1, b=1)
    made.persistent.add("a")
    found = lifetimes(made)
    assert (found["a"].from_before, found["a"].to_after) == (True, True)
    assert (found["b"].from_before, found["b"].to_after) == (False, False)


def test_leases_are_no_storages_of_the_arena():
    made = program(Fill("a", 0.0), a=1)
    made.add("w", (4,), home="table")
    made.emit(Accumulate("w", "a"))
    assert list(lifetimes(made)) == ["a"]
    assert touched(made, made.instructions[1]) == {"a"}


def test_what_is_filled_when_the_plan_is_bound_never_leaves():
    made = program(Fill("a", 1.0, "once"), Fill("b", 0.0), a=1, b=1)
    made.persistent.add("a")
    assert lifetimes(made)["a"].touches == ()
