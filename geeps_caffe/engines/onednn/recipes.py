"""Recipes by their requests: made once, described several times, bound at last.

A plan asks several times what a pass reads and how its arrays lie before it binds it,
and nets have layers that are alike. Making a recipe takes oneDNN and Python 0.3 ms on
average; a third to a half of what GoogLeNet's plan asks for is new.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping

import numpy as np

from geeps_caffe.device.array import Array, aligned
from geeps_caffe.device.ordering import in_turn
from geeps_caffe.engines.engine import Call, Description, Request
from geeps_caffe.engines.onednn import OPERATIONS
from geeps_caffe.engines.onednn.constants import Arg, Query
from geeps_caffe.engines.onednn.recipe import (
    HostStep,
    Kit,
    Recipe,
    Step,
)
from geeps_caffe.engines.onednn.threads import openmp_threads
from geeps_caffe.engines.operations import InnerProduct

MOST = 4096  # that are kept


class Recipes:
    """What one kit makes: descriptions of requests, and calls.

    Args:
        kit: makes the primitives.
        most: recipes that are kept; the one that was asked for longest ago goes first.
    """

    def __init__(self, kit: Kit, most: int = MOST) -> None:
        self.kit = kit
        self._most = most
        self._made: OrderedDict[Hashable, Recipe | None] = OrderedDict()

    def find(self, request: Request) -> Recipe | None:
        """The recipe of a request; None where oneDNN can't do exactly as Caffe."""
        key = self._key(request)
        if key in self._made:
            self._made.move_to_end(key)
            return self._made[key]
        recipe = self._made[key] = _make(self.kit, request)
        if len(self._made) > self._most:
            self._made.popitem(last=False)
        return recipe

    def _key(self, request: Request) -> Hashable:
        """All that a recipe depends on; the code for few threads is another."""
        return (
            request.operation,
            request.direction,
            frozenset(request.shapes.items()),
            frozenset(request.given.items()),
            np.dtype(request.dtype),
            request.training,
            request.parts,
            openmp_threads(self.kit.api.library),
        )

    def describe(self, request: Request) -> Description | None:
        """How `request` would run."""
        recipe = self.find(request)
        if recipe is None:
            return None
        return Description(
            dict(recipe.layouts),
            tuple(recipe.saved),
            recipe.scratch,
            recipe.implementation,
        )

    def bind(
        self,
        request: Request,
        description: Description,
        arrays: Mapping[str, Array],
        scratch: Array | None,
    ) -> Call:
        """The call that runs a pass that was described."""
        recipe = self.find(request)
        assert recipe is not None, "a request is described before it is bound"
        assert recipe.scratch <= description.scratch, "another request was described"
        return _Binder(recipe, arrays, scratch).call()


def _make(kit: Kit, request: Request) -> Recipe | None:
    if np.dtype(request.dtype) != np.float32:
        return None
    if any(0 in shape or not shape for shape in request.shapes.values()):
        return None
    if request.parts and not isinstance(request.operation, InnerProduct):
        return None
    make = OPERATIONS.get(type(request.operation))
    return None if make is None else make(kit, request)


class _Binder:
    """Arrays under one recipe."""

    def __init__(
        self, recipe: Recipe, arrays: Mapping[str, Array], scratch: Array | None
    ) -> None:
        self._recipe = recipe
        self._api = recipe.kit.api
        self._buffers = {port: arrays[port] for port in recipe.layouts}
        self._buffers |= recipe.constants
        self._buffers |= {name: make() for name, make in recipe.own.items()}
        start = 0
        for name, md in recipe.temporaries.items():
            assert scratch is not None
            self._buffers[name] = scratch[start : start + md.nbytes]
            start += aligned(md.nbytes)
        self._scratchpad = None if scratch is None else scratch[start:]

    def call(self) -> Call:
        """The call that runs all steps."""
        return in_turn([self._step(step) for step in self._recipe.steps])

    def _step(self, step: Step | HostStep) -> Call:
        if isinstance(step, HostStep):
            return step.bind(self._buffers)
        memories = {
            arg: self._api.memory(md, self._buffers[name])
            for arg, (name, md) in step.uses.items()
        }
        if step.desc.scratch:
            assert self._scratchpad is not None
            pad = step.desc.md(Query.SCRATCHPAD)
            memories[Arg.SCRATCHPAD] = self._api.memory(pad, self._scratchpad)
        return self._api.bind(step.desc, memories)
