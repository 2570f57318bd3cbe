"""Learning-rate policies: the rate of an iteration, as a pure function.

Caffe computes in single precision, except where C++ promotes to double (a power with
a whole exponent: step, multistep and exp). Rates here are the same to the last bit,
since a schedule's rounding would otherwise show after thousands of iterations.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from geeps_caffe.errors import InputError, unknown

#: From solver, iteration, and how often gamma was applied so far.
Policy: TypeAlias = Callable[[Any, int, int], float]

_single = np.float32


@dataclass(frozen=True)
class Start:
    """Where a run began: both are of the solver state that it was resumed from."""

    iteration: int = 0
    step: int = 0


def learning_rate(solver: Any, iteration: int, start: Start | None = None) -> float:
    """The rate of the update that follows `iteration` updates.

    Args:
        solver: a SolverParameter message.
        iteration: counted from 0.
        start: where the run began, if it was resumed.

    Raises:
        InputError: the policy is unknown, or its parameters make no rate.
    """
    if solver.lr_policy not in POLICIES:
        raise InputError(unknown("lr_policy", solver.lr_policy, POLICIES))
    step = current_step(solver, iteration, start)
    with np.errstate(all="ignore"):  # what overflows is caught as a whole below
        rate = POLICIES[solver.lr_policy](solver, iteration, step)
    if not np.isfinite(rate):
        raise InputError(
            f"lr_policy {solver.lr_policy!r} gives no finite rate at iteration "
            f"{iteration}"
        )
    return rate


def current_step(solver: Any, iteration: int, start: Start | None = None) -> int:
    """How often the rate was multiplied by gamma: `current_step` of a solverstate.

    Caffe writes the step of the last rate it computed, which is the one of
    iteration - 1 when `iteration` updates are done. Policies but step and multistep
    keep the number that the run began with.
    """
    start = start or Start()
    if solver.lr_policy == "step":
        return iteration // _stepsize(solver)
    if solver.lr_policy == "multistep":
        return _steps_passed(solver.stepvalue, iteration, start)
    return start.step


def _stepsize(solver: Any) -> int:
    if solver.stepsize <= 0:
        raise InputError(
            f"lr_policy 'step' needs a stepsize above 0, not {solver.stepsize}"
        )
    return int(solver.stepsize)


def _steps_passed(stepvalues: Any, iteration: int, start: Start) -> int:
    """As Caffe counts: one step an iteration at most, and in the order they stand."""
    passed, earliest = start.step, start.iteration
    while passed < len(stepvalues):
        reached = max(stepvalues[passed], earliest)
        if iteration < reached:
            break
        passed, earliest = passed + 1, reached + 1
    return passed


def _fixed(solver: Any, iteration: int, step: int) -> float:
    return float(solver.base_lr)


def _step(solver: Any, iteration: int, step: int) -> float:
    return _decayed(solver, step)


def _exp(solver: Any, iteration: int, step: int) -> float:
    return _decayed(solver, iteration)


def _decayed(solver: Any, times: int) -> float:
    """base_lr gamma^times; in double, since the exponent is a whole number."""
    power = np.float64(_single(solver.gamma)) ** times
    return float(_single(_single(solver.base_lr) * power))


def _inv(solver: Any, iteration: int, step: int) -> float:
    """base_lr (1 + gamma iteration)^-power."""
    base = _single(1.0 + float(_single(solver.gamma)) * iteration)
    return float(_single(solver.base_lr) * _power(base, -solver.power))


def _poly(solver: Any, iteration: int, step: int) -> float:
    """base_lr (1 - iteration / max_iter)^power: 0 when all is done."""
    if solver.max_iter <= 0:
        raise InputError(f"lr_policy 'poly' needs max_iter > 0, not {solver.max_iter}")
    left = _single(1) - _single(iteration) / _single(solver.max_iter)
    return float(_single(solver.base_lr) * _power(left, solver.power))


def _sigmoid(solver: Any, iteration: int, step: int) -> float:
    """base_lr / (1 + exp(-gamma (iteration - stepsize)))."""
    past = _single(iteration) - _single(solver.stepsize)
    exponent = -_single(solver.gamma) * past
    grown = _single(np.exp(np.float64(exponent)))
    return float(_single(solver.base_lr) * (_single(1) / (_single(1) + grown)))


def _power(base: np.float32, exponent: float) -> np.float32:
    """A single-precision power, rounded once."""
    return _single(np.float64(base) ** np.float64(_single(exponent)))


POLICIES: Mapping[str, Policy] = {
    "fixed": _fixed,
    "step": _step,
    "exp": _exp,
    "inv": _inv,
    "multistep": _step,
    "poly": _poly,
    "sigmoid": _sigmoid,
}
