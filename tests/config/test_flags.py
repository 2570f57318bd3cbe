import pytest

from geeps_caffe.config.flags import Flag, parse, usage
from geeps_caffe.errors import UsageError

TABLE = (
    Flag("solver", "", "the solver definition"),
    Flag("iterations", 50, "how many"),
    Flag("rate", 0.5),
    Flag("gray", False, "greyscale"),
    Flag("cache", True),
    Flag("backend", "lmdb", choices=("lmdb", "leveldb")),
)


@pytest.mark.parametrize(
    "argv",
    [
        ["train", "-solver", "s.prototxt", "-iterations", "7"],
        ["train", "--solver=s.prototxt", "--iterations=7"],
        ["-solver=s.prototxt", "train", "--iterations", "7"],
        ["--solver", "s.prototxt", "-iterations=7", "train"],
    ],
)
def test_dashes_equals_signs_and_order_do_not_matter(argv):
    line = parse(argv, TABLE)
    assert line.words == ("train",)
    assert line.text("solver") == "s.prototxt"
    assert line.integer("iterations") == 7
    assert line.given == {"solver", "iterations"}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("-gray", True),
        ("--gray", True),
        ("-nogray", False),
        ("--gray=true", True),
        ("--gray=0", False),
        ("-gray=T", True),
        ("-gray=no", False),
    ],
)
def test_booleans_have_all_the_spellings_of_gflags(word, value):
    line = parse([word, "false"], TABLE)
    assert line.switch("gray") is value
    assert line.words == ("false",)  # never taken as the boolean's value


def test_what_is_not_given_has_its_default():
    line = parse([], TABLE)
    assert dict(line.values) == {f.name: f.default for f in TABLE}
    assert line.given == frozenset()


def test_the_last_of_two_values_counts():
    assert parse(["-rate=1", "--rate", "2.5"], TABLE).real("rate") == 2.5


def test_a_negative_number_is_a_value():
    line = parse(["-iterations", "-1", "-2", "-rate=-3e-1"], TABLE)
    assert (line["iterations"], line["rate"], line.words) == (-1, -0.3, ("-2",))


def test_two_dashes_end_the_flags():
    assert parse(["a", "--", "-gray", "--x"], TABLE).words == ("a", "-gray", "--x")


def test_a_dash_in_a_name_is_an_underscore():
    assert parse(["--batch-mode=x"], (Flag("batch_mode", ""),))["batch_mode"] == "x"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--sovler=x"], "unknown flag 'sovler'; did you mean 'solver'"),
        (["-solver"], "flag -solver needs a value"),
        (["-iterations=many"], "-iterations is 'many'; expected a whole number"),
        (["-rate", "x"], "-rate is 'x'; expected a number"),
        (["-gray=maybe"], "-gray is 'maybe'; expected true or false"),
        (["--backend=lmbd"], "unknown value of -backend 'lmbd'; did you mean 'lmdb'"),
        (["-nosolver"], "unknown flag 'nosolver'"),
    ],
)
def test_a_wrong_flag_is_refused_with_its_name(argv, said):
    with pytest.raises(UsageError, match=said) as refused:
        parse(argv, TABLE, "caffe")
    assert str(refused.value).startswith("caffe: ")


def test_usage_has_the_form_of_gflags():
    text = usage((Flag("gray", False, "treat images as greyscale"), Flag("a", "x")))
    assert text == (
        '    -a () type: string default: "x"\n'
        "    -gray (treat images as greyscale) type: bool default: false"
    )
