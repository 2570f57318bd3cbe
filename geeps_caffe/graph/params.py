"""Learnable blobs: multipliers, shared names, owners (Caffe's AppendParam)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from geeps_caffe.device.array import count
from geeps_caffe.errors import GraphError
from geeps_caffe.graph.graph import Param
from geeps_caffe.layers.base import Layer, ParamSpec

MULTIPLIERS = ("lr_mult", "decay_mult")


class ParamTable:
    """The params of a net in the order of their owners; sharing is resolved."""

    def __init__(self) -> None:
        self.params: dict[str, Param] = {}
        self._named: dict[str, tuple[str, Layer]] = {}
        self._given: set[tuple[str, str]] = set()  # multipliers of shared params
        self._layers: Counter[str] = Counter()

    def add(self, layer: Layer, specs: Sequence[ParamSpec]) -> tuple[str, ...]:
        """Enter a layer's params; returns the keys of their owners."""
        self._layers[layer.spec.name] += 1
        if len(layer.spec.param) > len(specs):
            raise GraphError(
                f"{layer.title} has {len(specs)} learnable blobs but "
                f"{len(layer.spec.param)} param entries; remove the surplus"
            )
        return tuple(self._add(layer, i, spec) for i, spec in enumerate(specs))

    def _add(self, layer: Layer, index: int, spec: ParamSpec) -> str:
        given = layer.spec.param[index] if index < len(layer.spec.param) else None
        name = given.name if given is not None else ""
        if name and name in self._named:
            return self._share(layer, given, spec, *self._named[name])
        key = self._key(layer.spec.name, index)
        self.params[key] = Param(
            key=key,
            shape=spec.shape,
            filler=spec.filler,
            lr_mult=given.lr_mult if given is not None else 1.0,
            decay_mult=given.decay_mult if given is not None else 1.0,
            state=spec.state,
            name=name,
        )
        if given is not None and name:
            self._named[name] = (key, layer)
            self._given |= {(key, f) for f in MULTIPLIERS if given.HasField(f)}
        return key

    def _key(self, layer: str, index: int) -> str:
        """Layers may have the same name; from the second on they are counted."""
        nth = self._layers[layer]
        return f"{layer}/{index}" if nth == 1 else f"{layer}#{nth}/{index}"

    def _share(
        self, layer: Layer, given: Any, spec: ParamSpec, key: str, owner: Layer
    ) -> str:
        mine, theirs = spec.shape, self.params[key].shape
        permissive = given.share_mode == 1
        fits = count(mine) == count(theirs) if permissive else mine == theirs
        if not fits:
            raise GraphError(
                f"{layer.title} shares param {given.name!r} with {owner.title}, but "
                f"the shapes differ: {mine} and {theirs}; share_mode PERMISSIVE asks "
                "for equal counts only"
            )
        for field in MULTIPLIERS:
            self._multiplier(layer, given, field, key, owner)
        return key

    def _multiplier(
        self, layer: Layer, given: Any, field: str, key: str, owner: Layer
    ) -> None:
        """One who shares may give what no one before has given, else must agree."""
        if not given.HasField(field):
            return
        mine, param = getattr(given, field), self.params[key]
        if (key, field) not in self._given:
            self._given.add((key, field))
            self.params[key] = replace(param, **{field: mine})
        elif getattr(param, field) != mine:
            raise GraphError(
                f"{layer.title}: shared param {given.name!r} has {field} {mine}, but "
                f"{owner.title} gives it {getattr(param, field)}; make them equal"
            )
