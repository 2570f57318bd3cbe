import pytest

from geeps_caffe.errors import InputError, ParameterServerError
from geeps_caffe.paramserver import Scheme, Segment, Table
from geeps_caffe.paramserver.scheme import difference, read_scheme, write_scheme
from geeps_caffe.solvers import Hyper

TABLE = Table("conv1", 300, segments=(Segment("w", 0, 250, 1.0, 0.5),))


def test_a_scheme_survives_the_wire():
    scheme = Scheme((TABLE,), "Adam", "sum", Hyper(0.1, momentum=0.9))
    assert read_scheme(write_scheme(scheme)) == scheme


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tables": [{}], "hyper": {}}'])
def test_what_is_no_scheme_is_refused(text):
    with pytest.raises(ParameterServerError):
        read_scheme(text)


def test_rate_and_iteration_are_not_part_of_the_digest():
    schemes = [
        Scheme((TABLE,), "SGD", hyper=Hyper(r, i)) for r, i in ((0.1, 0), (1, 9))
    ]
    assert schemes[0].digest == schemes[1].digest


@pytest.mark.parametrize(
    "other",
    [
        Scheme((Table("conv1", 300),)),
        Scheme((TABLE,), rule="SGD"),
        Scheme((TABLE,), reduce="sum"),
        Scheme((TABLE,), hyper=Hyper(0.1, momentum=0.9)),
        Scheme((Table("conv1", 300, segments=TABLE.segments, layout="aBcd16b"),)),
    ],
)
def test_any_other_difference_is(other):
    assert Scheme((TABLE,)).digest != other.digest


def test_the_difference_names_the_line():
    mine, theirs = Scheme((TABLE,)), Scheme((Table("conv1", 400),))
    text = difference(mine.text, theirs.text, "rank 0", "rank 1")
    assert "--- rank 0" in text
    assert "-table conv1: 3 rows of 128 float32, size 300" in text
    assert "+table conv1: 4 rows of 128 float32, size 400" in text


def test_a_long_difference_is_cut():
    many = Scheme(tuple(Table(f"t{i}", 1) for i in range(100)))
    text = difference(many.text, Scheme((TABLE,)).text, "a", "b")
    assert text.endswith("more lines")
    assert len(text.splitlines()) == 21


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"tables": ()}, ParameterServerError, "no tables"),
        ({"tables": (TABLE, TABLE)}, ParameterServerError, "have the name 'conv1'"),
        ({"rule": "Adan"}, ParameterServerError, "'Adan'; did you mean 'Adam'"),
        ({"reduce": "men"}, ParameterServerError, "'men'; did you mean 'mean'"),
        (
            {"rule": "AdaGrad", "hyper": Hyper(0.1, momentum=0.9)},
            InputError,
            "momentum: 0.9",
        ),
        (
            {
                "tables": (Table("t", 1, slack=-1),),
                "rule": "SGD",
                "hyper": Hyper(0.1, clip_gradients=1.0),
            },
            ParameterServerError,
            "clip_gradients needs",
        ),
    ],
)
def test_impossible_schemes_are_refused(fields, error, message):
    with pytest.raises(error, match=message):
        Scheme(**{"tables": (TABLE,), **fields})
