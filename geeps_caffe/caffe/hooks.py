"""Functions of a program that a net calls around each layer: before_forward, ..."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

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
        direction: str,
        owners: list[int],
        wanted: Wanted,
        walk: Callable[[Wanted], None],
        settled: Settled,
    ) -> None:
        """Walk over the instructions that are wanted, and call the hooks between.

        Args:
            direction: "forward" or "backward".
            owners: the layer that each instruction serves.
            wanted: which instructions of the program to run.
            walk: runs those that a function accepts, in order.
            settled: a context in which the program sees the arrays as they are before
                a layer, or after it (True), and what it writes there counts.
        """
        before, after = self.before[direction], self.after[direction]
        if not before and not after:
            walk(wanted)
            return
        running: list[int] = []

        def enter(position: int, instruction: Instruction) -> bool:
            if not wanted(position, instruction):
                return False
            if running != [owners[position]]:
                leave()
                running.append(owners[position])
                _call(before, owners[position], settled(owners[position], False))
            return True

        def leave() -> None:
            if running:
                layer = running.pop()
                _call(after, layer, settled(layer, True))

        walk(enter)
        leave()


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


def _call(hooks: list[Hook], layer: int, settled: AbstractContextManager[None]) -> None:
    if hooks:
        with settled:
            for hook in hooks:
                hook(layer)
