"""Caffe's examples on a part of the data, for a few iterations each.

benchmarks/examples.py runs them for 500 iterations on all of it.
"""

import pytest

from geeps_caffe.config.job import RunSettings
from tests.examples.runs import EXAMPLES, fall, lay_out, losses_of
from tests.execution.recordings import inside

#: Those that need more than a second or so here: fewer iterations.
ITERATIONS = {"cifar10": 4, "siamese": 30, "hdf5": 400, "linreg": 400}


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    """Caffe's root for each place, made once."""
    made = {}

    def root(place, corpus):
        if place not in made:
            made[place] = tmp_path_factory.mktemp(place)
            lay_out(made[place], corpus, place, records=1000)
        return made[place]

    return root


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.solver.split("/")[-1])
def test_an_example_of_caffes_runs_unchanged(example, roots, corpus, monkeypatch):
    root = roots(example.place, corpus)
    monkeypatch.syspath_prepend(str(root / "examples" / "pycaffe" / "layers"))
    iterations = ITERATIONS.get(example.place, 40)
    with inside(root / example.folder):
        settings = RunSettings(seed=1, threads=2)
        losses, tested = losses_of(example.solver, iterations, settings, tests=1)
    assert len(losses) == iterations
    assert fall(losses, max(iterations // 8, 1)) < 1
    assert all(tested.values())


def test_both_test_nets_of_a_consolidated_solver_are_tested(roots, corpus):
    example = next(e for e in EXAMPLES if "consolidated" in e.solver)
    with inside(roots("mnist", corpus) / example.folder):
        _, tested = losses_of(example.solver, 1, RunSettings(seed=1, threads=2), 1)
    assert set(tested) == {0, 1}
    assert all(set(values) == {"accuracy", "loss"} for values in tested.values())
