import pytest

from prototxt.schema import SolverParameter, enum_value
from prototxt.upgrade.solver import canonical_type, upgrade_solver

NAMES = {
    "SGD": "SGD",
    "NESTEROV": "Nesterov",
    "ADAGRAD": "AdaGrad",
    "RMSPROP": "RMSProp",
    "ADADELTA": "AdaDelta",
    "ADAM": "Adam",
}


@pytest.mark.parametrize(("old", "new"), NAMES.items())
def test_every_old_type_has_a_name(old, new):
    number = enum_value("SolverParameter.SolverType", old)
    solver, notes = upgrade_solver(SolverParameter(solver_type=number), "s")
    assert solver == SolverParameter(type=new)
    assert [note.severity for note in notes] == ["I", "I", "W"]


def test_a_current_solver_comes_back_as_it_is():
    solver = SolverParameter(type="Adam")
    assert upgrade_solver(solver, "s") == (solver, [])


def test_names_are_brought_to_the_spelling_of_caffe():
    assert canonical_type("adadelta") == "AdaDelta"
    assert canonical_type("MySolver") == "MySolver"
