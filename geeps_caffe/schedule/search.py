"""The cost-aware planner: several placements are simulated, and the fastest is kept.

What is best depends on the net, the budget and the device in ways that no one rule
covers. So gaps are chosen with more or less room for copies, and by bytes or by stalls;
where copies of a storage made computing wait, they are made dearer and the choice is
repeated. Every candidate's copies are put ahead of need (`prefetch.py`), and it is
replayed with its costs (`simulate.py`). The greedy plan of `fit.py` is one of the
candidates, so there is a plan whenever there is one; and none is kept that moves more
than GeePS's Algorithm 2 would.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from geeps_caffe.errors import PlanError
from geeps_caffe.schedule.algorithm2 import moved_bytes, place_rows
from geeps_caffe.schedule.arena import place
from geeps_caffe.schedule.choice import load_of
from geeps_caffe.schedule.costs import CostModel, Costs
from geeps_caffe.schedule.fit import fit, least_budget, rounded
from geeps_caffe.schedule.instructions import SwapIn, SwapOut
from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.placement import Aim, place_by_time
from geeps_caffe.schedule.plan import Packing, Plan, Planner, assemble
from geeps_caffe.schedule.prefetch import prefetched
from geeps_caffe.schedule.program import Program
from geeps_caffe.schedule.reach import Problem
from geeps_caffe.schedule.recording import record
from geeps_caffe.schedule.simulate import Simulation, simulate
from geeps_caffe.schedule.swaps import touched_bytes
from geeps_caffe.schedule.timeline import timeline

#: Tried in this order; the first that packs at each price counts.
REACHES = (1.5, 1.0, 0.5, 0.2, 0.0)
PRICES = (0.1, 1.0, 10.0)  # what a hidden second of copying costs
PARTS = (1.0, 0.97, 0.92, 0.85)  # of the budget, where holes are in the way
SLACKS = (1.0, 3.0)  # how long copies ahead of need are given, for each place
ROUNDS = 4  # in which stalls are made dearer
_DEARER = 4.0
_FREE = 0.998  # of the speed of computing alone
_PLENTY = 1 << 60  # bytes, where there is no budget
_MANY = 2500  # instructions above which one price is tried


def cost_aware(model: CostModel) -> Planner:
    """A planner for `make_plan` that knows what instructions and copies cost."""

    def plan(
        program: Program, lives: Mapping[str, Lifetime], budget: int | None
    ) -> Packing:
        search = _Search(program, lives, budget, model(program))
        return search.best()

    return plan


@dataclass(frozen=True)
class _Candidate:
    packing: Packing
    plan: Plan
    result: Simulation

    def order(self) -> tuple[float, int, int]:
        """The faster, then the one that moves less, then the smaller."""
        return round(self.result.seconds, 9), self.plan.moved_bytes, self.packing.size


class _Search:
    def __init__(
        self,
        program: Program,
        lives: Mapping[str, Lifetime],
        budget: int | None,
        costs: Costs,
    ) -> None:
        self._program, self._lives, self._budget = program, lives, budget
        self._costs, self._time = costs, timeline(costs)
        self._length = max(len(program.instructions), 1)
        self._problem = Problem(rounded(lives), self._length, self._time)
        self._least = least_budget(self._problem.lives, self._length)
        self._known: dict[Hashable, _Candidate | None] = {}  # by what stays when

    def best(self) -> Packing:
        """The places of the best plan."""
        plain = Packing(*fit(self._lives, self._length, self._budget))
        # Copies ahead of need are at times in each other's way.
        tried = (self._candidate(plain), self._replayed(plain))
        greedy = min(tried, key=_Candidate.order)
        if self._is_free(greedy):
            return greedy.packing
        most, found = self._algorithm2(), [greedy]
        for candidate in self._others():
            found.append(candidate)
            if self._is_free(candidate) and candidate.plan.moved_bytes <= most:
                break
        least = min(candidate.plan.moved_bytes for candidate in found)
        allowed = [c for c in found if c.plan.moved_bytes <= max(most, least)]
        return min(allowed, key=_Candidate.order).packing

    def _is_free(self, candidate: _Candidate) -> bool:
        """Whether it could hardly be better: next to nothing stalls."""
        return candidate.result.speed > _FREE

    def _algorithm2(self) -> int:
        """Bytes that Algorithm 2 would move within the budget.

        What it pins of leases comes from or goes to the parameter server all the same.
        """
        if self._budget is None:
            return _PLENTY
        accesses = record(self._program)
        try:
            placement = place_rows(accesses, self._budget)
        except PlanError:
            return _PLENTY
        pinned = placement.locals_.intersection(self._program.leases)
        return moved_bytes(accesses, placement) + sum(map(self._lent, pinned))

    def _lent(self, storage: str) -> int:
        """Bytes that the client's memory gives or takes of a lease in any case."""
        life = self._lives[storage]
        return life.nbytes * (life.from_host + life.to_host)

    def _others(self) -> Iterator[_Candidate]:
        prices = PRICES if self._length < _MANY else PRICES[1:2]
        for hidden in prices:
            dear: dict[str, float] = {}
            reaches = REACHES if self._costs.overlap else (0.0,)
            for _ in range(ROUNDS):
                tried = [
                    (self._packed(Aim(reach, hidden), dear), reach) for reach in reaches
                ]
                found = [(c, reach) for c, reach in tried if c is not None]
                if not found:
                    break
                yield from (candidate for candidate, _ in found)
                best, reach = min(found, key=lambda entry: entry[0].order())
                reaches = (reach,)
                if not self._make_dearer(best, dear):
                    break

    def _packed(self, aim: Aim, dear: Mapping[str, float]) -> _Candidate | None:
        """A plan within the budget, or None if holes or copies take too much."""
        touched = touched_bytes(self._problem.lives, self._length)
        most = _PLENTY if self._budget is None else self._budget
        for part in PARTS:
            limit = np.full(self._length, int(most * part), np.int64)
            limit = np.maximum(touched, limit)
            chosen = place_by_time(self._problem, limit, aim, dear)
            if load_of(chosen, self._length).max() > most:
                continue
            key = frozenset(chosen)
            if key not in self._known:
                packing = Packing(*place(chosen, self._length, self._budget))
                fits = packing.size <= most
                self._known[key] = self._candidate(packing) if fits else None
            if self._known[key] is not None:
                return self._known[key]
        return None

    def _candidate(self, packing: Packing) -> _Candidate:
        if not self._costs.overlap:
            return self._replayed(packing)
        lives, found = self._problem.lives, []
        for slack in SLACKS:
            ahead = prefetched(packing.places, lives, self._time, slack)
            found.append(self._replayed(Packing(ahead, packing.size)))
            if self._is_free(found[-1]):
                break
        return min(found, key=_Candidate.order)

    def _replayed(self, packing: Packing) -> _Candidate:
        program, lives, budget = self._program, self._lives, self._budget
        plan = assemble(program, lives, packing, budget, self._least)
        return _Candidate(packing, plan, simulate(plan, self._costs))

    def _make_dearer(self, found: _Candidate, dear: dict[str, float]) -> bool:
        """Raise the price of storages whose copies stalled; whether there are any."""
        storages = set()
        for stall in found.result.stalls[:8]:
            entry = found.plan.instructions[stall.cause]
            if isinstance(entry, SwapIn | SwapOut):
                storages.add(entry.storage)
        for name in storages:
            dear[name] = dear.get(name, 1.0) * _DEARER
        return bool(storages)
