"""pycaffe's solvers: get_solver and the six classes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import prototxt
from geeps_caffe.caffe.logged import log_report
from geeps_caffe.caffe.mode import MODE
from geeps_caffe.caffe.net import Net, driven, link
from geeps_caffe.config.job import RunSettings
from geeps_caffe.errors import InputError
from geeps_caffe.execution.trainer import Trainer


class Solver:
    """A solver from a prototxt, driven from Python.

    Args:
        file: the solver's prototxt.
        settings: ours, how to run it; by default what `set_engine` and
            `set_random_seed` chose.
    """

    def __init__(self, file: str, settings: RunSettings | None = None) -> None:
        document = prototxt.read_solver(str(file))
        self.param = document.message
        self._trainer = Trainer(
            document.message,
            str(file),
            _with_gradients(settings or _settings()),
            log_report,
            document=document,
        )
        self.net = Net.of(self._trainer.net)
        self.test_nets = [Net.of(test.net) for test in self._trainer.tests]
        link(self.net, *self.test_nets)

    @property
    def type(self) -> str:
        """The solver's type, such as "SGD"."""
        return str(self.param.type)

    @property
    def iter(self) -> int:
        """Updates done."""
        return self._trainer.iteration

    @property
    def lr(self) -> float:
        """The learning rate of the next update."""
        return self._trainer.rate()

    def step(self, iterations: int) -> None:
        """Do so many iterations, with the tests and snapshots that are due."""
        with driven(self.net, *self.test_nets):
            self._trainer.step(iterations)

    def solve(self, resume: str | None = None) -> None:
        """Train to max_iter; `resume` is a solver state."""
        with driven(self.net, *self.test_nets):
            self._trainer.solve(resume)

    def restore(self, path: str) -> None:
        """Go on from a solver state."""
        with driven(self.net):
            self._trainer.restore(str(path))

    def snapshot(self) -> None:
        """Write weights and state."""
        with driven(self.net):
            self._trainer.snapshot()

    def add_callback(
        self, on_start: Callable[[], Any], on_gradients_ready: Callable[[], Any]
    ) -> None:
        """Call functions before each iteration, and before its update.

        What `on_gradients_ready` writes into the diffs of params is what the update
        is made of.
        """
        self._trainer.training.hooks.append(
            (self._at_rest(on_start), self._at_rest(on_gradients_ready))
        )

    def _at_rest(self, call: Callable[[], Any]) -> Callable[[], None]:
        """The call, with the arrays that Python sees up to date on both sides."""

        def at_rest() -> None:
            self.net.after_run()
            call()
            self.net.before_run()

        return at_rest

    def apply_update(self) -> None:
        """Update the params by the diffs that are there; counts as an iteration."""
        with driven(self.net):
            self._trainer.apply_update()

    def share_weights(self, net: Net) -> None:
        """Let a net use the params of this solver's, by layer name."""
        net.share_with(self.net)


def get_solver(file: str, settings: RunSettings | None = None) -> Solver:
    """The solver of a prototxt, of the class that its type names."""
    document = prototxt.read_solver(str(file))
    for kind in SOLVERS:
        if kind.type_name.lower() == document.message.type.lower():
            return kind(file, settings)
    return Solver(file, settings)


class _Typed(Solver):
    """A solver class that insists on its type."""

    type_name = ""

    def __init__(self, file: str, settings: RunSettings | None = None) -> None:
        found = prototxt.read_solver(str(file)).message.type
        if found.lower() != self.type_name.lower():
            raise InputError(
                f"{file}: the solver's type is {found!r}, not {self.type_name!r}; use "
                "get_solver, which takes every type"
            )
        super().__init__(file, settings)


class SGDSolver(_Typed):
    """Stochastic gradient descent with momentum."""

    type_name = "SGD"


class NesterovSolver(_Typed):
    """Nesterov's accelerated gradient."""

    type_name = "Nesterov"


class AdaGradSolver(_Typed):
    """Adaptive gradient."""

    type_name = "AdaGrad"


class RMSPropSolver(_Typed):
    """Gradients over their running root mean square."""

    type_name = "RMSProp"


class AdaDeltaSolver(_Typed):
    """AdaDelta: steps without a rate of their own."""

    type_name = "AdaDelta"


class AdamSolver(_Typed):
    """Adaptive moments."""

    type_name = "Adam"


SOLVERS: tuple[type[_Typed], ...] = (
    SGDSolver,
    NesterovSolver,
    AdaGradSolver,
    RMSPropSolver,
    AdaDeltaSolver,
    AdamSolver,
)


def _with_gradients(settings: RunSettings) -> RunSettings:
    """Callbacks see gradients whole, and before any update."""
    return replace(settings, without=(*settings.without, "rows"))


def _settings() -> RunSettings:
    return RunSettings(
        engine=MODE.chosen,
        gpu=MODE.device,
        dtype=MODE.dtype,
        threads=MODE.threads,
        seed=MODE.seed,
        keep_all=True,
    )
