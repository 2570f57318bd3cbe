"""Functions of a program that a net calls around each layer: before_forward, ..."""

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from geeps_caffe.caffe.in_place import Part
from geeps_caffe.schedule.instructions import Instruction

Hook = Callable[[int], object]
Wanted = Callable[[int, Instruction], bool]
Settled = Callable[[int, bool], AbstractContextManager[None]]


@dataclass
class Hooks:
    """What to call with a layer's number, by pass."""

    before: dict[str, list[Hook]] = field(
        default_factory=lambda: {"forward": [], "backward": []}
    )
    after: dict[str, list[Hook]] = field(
        default_factory=lambda: {"forward": [], "backward": []}
    )

    def run(
        self,
        part: Part,
        owners: list[int],
        wanted: Wanted,
        walk: Callable[[Wanted], None],
        settled: Settled,
    ) -> None:
        """Walk over the instructions that are wanted, and call the hooks between.

        Args:
            part: the layers that run.
            owners: the layer that each instruction serves.
            wanted: which instructions of the program to run.
            walk: runs those that a function accepts, in order.
            settled: a context in which the program sees the arrays as they are before
                a layer, or after it (True), and what it writes there counts.
        """
        direction = "backward" if part.backward else "forward"
        before, after = self.before[direction], self.after[direction]
        if not before and not after:
            walk(wanted)
            return
        layers = _Layers(part.layers(), before, after, settled)

        def enter(position: int, instruction: Instruction) -> bool:
            if not wanted(position, instruction):
                return False
            layers.enter(owners[position])
            return True

        walk(enter)
        layers.end()


class _Layers:
    """The layers of a pass. Each is told of once, those that do nothing as well."""

    def __init__(
        self,
        layers: Iterable[int],
        before: list[Hook],
        after: list[Hook],
        settled: Settled,
    ) -> None:
        self._waiting = deque(layers)
        self._running: int | None = None
        self._before, self._after, self._settled = before, after, settled

    def enter(self, layer: int) -> None:
        """Tell of all layers up to one that is about to run."""
        while layer in self._waiting:
            self._leave()
            self._running = self._waiting.popleft()
            self._call(self._before, self._running, False)

    def end(self) -> None:
        """Tell of those that are left."""
        if self._waiting:
            self.enter(self._waiting[-1])
        self._leave()

    def _leave(self) -> None:
        if self._running is not None:
            self._call(self._after, self._running, True)

    def _call(self, hooks: list[Hook], layer: int, done: bool) -> None:
        if hooks:
            with self._settled(layer, done):
                for hook in hooks:
                    hook(layer)


class Hooked:
    """A net whose layers can be waited for."""

    _hooks: Hooks

    def before_forward(self, hook: Hook) -> None:
        """Call a function with the number of each layer before it runs forward."""
        self._hooks.before["forward"].append(hook)

    def after_forward(self, hook: Hook) -> None:
        """The same after each layer."""
        self._hooks.after["forward"].append(hook)

    def before_backward(self, hook: Hook) -> None:
        """The same before each layer runs backward."""
        self._hooks.before["backward"].append(hook)

    def after_backward(self, hook: Hook) -> None:
        """The same after each layer has run backward."""
        self._hooks.after["backward"].append(hook)
