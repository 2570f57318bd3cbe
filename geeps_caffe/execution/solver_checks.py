"""Numbers of a solver that no run could use: refused with their line, before nets."""

from collections.abc import Callable
from typing import Any

from geeps_caffe.errors import InputError
from geeps_caffe.solvers import find_rule, learning_rate, read_hyper
from prototxt import Document


def check_solver(solver: Any, path: str, document: Document | None) -> None:
    """Refuse a type, policy or number that would fail in the first step.

    Args:
        solver: the SolverParameter message, in the present format.
        path: the solver's file, for messages.
        document: the solver as it was read, which knows its lines; None: only `path`
            is told.

    Raises:
        InputError: with the place of the field. A policy is looked at where one is
            given, at its first rate.
    """

    def check(field: str, judge: Callable[[], object]) -> None:
        try:
            judge()
        except InputError as error:
            place = path if document is None else document.where(field)
            raise InputError(f"{place}: {error}" if place else str(error)) from error

    check("type", lambda: find_rule(solver.type))
    unclear = "iter_size" if solver.iter_size < 1 else "regularization_type"
    check(unclear, lambda: read_hyper(solver, 0.0, 0))
    if solver.HasField("lr_policy"):
        check("lr_policy", lambda: learning_rate(solver, 0))
