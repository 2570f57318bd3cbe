from pathlib import Path

import pytest

from geeps_caffe.commands.layers import (
    BORROWED,
    describe,
    ends,
    main,
    meaning,
    messages,
    page,
)
from geeps_caffe.errors import UsageError
from geeps_caffe.layers import LAYERS
from prototxt import LayerParameter

PAGE = Path(__file__).parents[2] / "docs" / "layers.md"


def test_the_page_in_docs_is_what_the_command_prints():
    assert PAGE.read_text() == page(), (
        "run: geeps-caffe layers -markdown >docs/layers.md"
    )


@pytest.mark.parametrize("name", LAYERS)
def test_every_type_says_what_it_does(name):
    first = meaning(LAYERS[name])[0]
    assert first.endswith(".")


@pytest.mark.parametrize("name", LAYERS)
def test_every_type_with_a_field_of_its_name_shows_it(name):
    field = f"{LAYERS[name].__module__.rpartition('.')[2]}_param"
    shown = [entry for entry, _ in messages(LAYERS[name])]
    assert (field in shown) == (field in LayerParameter.DESCRIPTOR.fields_by_name)


def test_borrowed_parameters_are_of_known_types_and_fields():
    assert set(BORROWED) <= set(LAYERS)
    fields = LayerParameter.DESCRIPTOR.fields_by_name
    assert all(name in fields for names in BORROWED.values() for name in names)


def test_a_type_is_described_with_types_defaults_and_meanings(capsys):
    assert main(["Pooling"]) == 0
    shown = capsys.readouterr().out
    row = next(line for line in shown.splitlines() if "round_mode" in line)
    assert row.split()[:5] == ["round_mode", "CEIL", "or", "FLOOR", "CEIL"]
    assert "global_pooling" in shown


def test_fields_of_forks_are_left_out():
    assert "PRE_FIXED" not in describe(LAYERS["SoftmaxWithLoss"])


def test_all_types_are_listed_in_a_line_each(capsys):
    assert main([]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(LAYERS)


def test_ends_are_counted():
    assert ends(LAYERS["ReLU"]) == "1 bottom, 1 top"
    assert ends(LAYERS["Concat"]).startswith("1 or more bottoms")


def test_an_unknown_type_offers_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'ReLU'"):
        main(["Relu"])
