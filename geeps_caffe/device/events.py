"""Which hand-overs between queues need an event: found from what each step touches.

Two steps conflict when they touch the same bytes and one of them writes. On one queue
order is given; across queues the later waits for an event of the earlier, unless an
earlier wait made it certain already.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Span:
    """Bytes of a memory: from `start` to before `stop`."""

    memory: str  # "arena", "host", a table, ...
    start: int
    stop: int


@dataclass(frozen=True)
class Step:
    """One instruction: its queue, and the bytes that it reads and writes."""

    queue: str
    reads: tuple[Span, ...] = ()
    writes: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Segment:
    """Positions of steps: those of one graph, and those that follow one by one."""

    captured: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


@dataclass
class _Touched:
    """Bytes that all steps touch alike; positions of steps, by queue."""

    written: tuple[str, int] | None = None
    read: dict[str, int] = field(default_factory=dict)


def find_hand_overs(
    steps: Sequence[Step], *, loop: bool = True
) -> dict[int, tuple[int, ...]]:
    """For each step the steps whose events its queue waits for before it.

    The steps are one iteration of a loop, or with `loop` off all there is. A wait for
    a step that comes later in the list is for its event of the iteration before,
    which is recorded anew each time; in the first iteration that wait is over at once.
    """
    found: dict[int, set[int]] = {}
    search = _Search(steps)
    for position in range((2 if loop else 1) * len(steps)):
        waits = search.advance(position)
        if waits:
            found.setdefault(position % len(steps), set()).update(
                wait % len(steps) for wait in waits
            )
    return {at: tuple(sorted(waits)) for at, waits in sorted(found.items())}


class _Search:
    """What each queue knows to be done: by queue, the last step that is certain."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._cuts = _cuts(steps)
        self._segments = {m: [_Touched() for _ in c] for m, c in self._cuts.items()}
        self._known: dict[str, dict[str, int]] = {}
        self._done: dict[int, Mapping[str, int]] = {}  # what was known after a step

    def advance(self, position: int) -> list[int]:
        """Take the next step; the steps that it must wait for."""
        step = self._steps[position % len(self._steps)]
        known = self._known.setdefault(step.queue, {})
        waits = []
        for queue, last in sorted(self._conflicts(step).items(), key=lambda c: -c[1]):
            if queue != step.queue and known.get(queue, -1) < last:
                waits.append(last)
                for other, at in self._done[last].items():
                    known[other] = max(known.get(other, -1), at)
        known[step.queue] = position
        self._done[position] = dict(known)
        self._note(step, position)
        return waits

    def _conflicts(self, step: Step) -> dict[str, int]:
        """The last conflicting step of each queue."""
        last: dict[str, int] = {}
        for segment in self._touched(step.reads + step.writes):
            if segment.written:
                queue, at = segment.written
                last[queue] = max(last.get(queue, -1), at)
        for segment in self._touched(step.writes):
            for queue, at in segment.read.items():
                last[queue] = max(last.get(queue, -1), at)
        return last

    def _note(self, step: Step, position: int) -> None:
        for segment in self._touched(step.reads):
            segment.read[step.queue] = position
        for segment in self._touched(step.writes):
            segment.written = (step.queue, position)
            segment.read.clear()

    def _touched(self, spans: tuple[Span, ...]) -> list[_Touched]:
        found: list[_Touched] = []
        for span in spans:
            cuts = self._cuts[span.memory]
            begin, end = bisect_left(cuts, span.start), bisect_left(cuts, span.stop)
            found += self._segments[span.memory][begin:end]
        return found


def _cuts(steps: Sequence[Step]) -> dict[str, list[int]]:
    """Where segments begin, by memory."""
    places: dict[str, set[int]] = {}
    for step in steps:
        for span in step.reads + step.writes:
            places.setdefault(span.memory, set()).update((span.start, span.stop))
    return {memory: sorted(cuts) for memory, cuts in places.items()}
