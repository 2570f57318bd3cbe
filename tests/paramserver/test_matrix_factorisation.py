"""The documented example, a program that is not Caffe's."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tests.paramserver.network import Network

PATH = Path(__file__).parents[2] / "docs" / "examples" / "matrix_factorisation.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("matrix_factorisation", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(example):
    """Gradient descent on the whole matrix."""
    ratings, rate = example.make_ratings(), example.RATE
    items = np.random.default_rng(2).standard_normal((example.ITEMS, example.RANK)) / 2
    users = np.full((example.USERS, example.RANK), 0.1)
    errors = []
    for _ in range(example.CLOCKS):
        wrong = ratings - users @ items.T
        errors.append(np.sum(wrong**2))
        users, items = users + rate * wrong @ items, items + rate * wrong.T @ users
    return errors


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_workers_descend_as_one(example, ranks):
    for outcome in Network(ranks, 1, example.factorise).run():
        np.testing.assert_allclose(outcome[:60], plain(example)[:60], 1e-6)
        assert outcome[-1] < 1e-3 * outcome[0]


def test_its_help_says_how_many_workers_may_be_given(example, capsys):
    with pytest.raises(SystemExit, match="0"):
        example.main(["-h"])
    assert "workers" in capsys.readouterr().out


def test_what_is_no_number_of_workers_is_refused(example, capsys):
    with pytest.raises(SystemExit, match="2"):
        example.main(["three"])
    assert "invalid int value: 'three'" in capsys.readouterr().err
