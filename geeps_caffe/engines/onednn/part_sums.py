"""An inner product's gradient as the sum of those of a batch's parts.

A part is a matrix product over its few records; the next one is added where it is
made, so that parts are never written down and read again. All are added up in the
order of `device.tree`: a sum of products stays in registers until it is whole, so
to add what lies in memory is the same rounding as to add two arrays.

Part g of n has the records g, g + n, ...; they are copied together first. Only code for
AVX-512 will do: in other an element's bits depend on where threads cut the product.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.device.tree import add_tree
from geeps_caffe.engines.engine import Call, Request, plain_layout
from geeps_caffe.engines.onednn.constants import Algorithm, Arg, post_op_src
from geeps_caffe.engines.onednn.descriptors import Md, add_old, combine
from geeps_caffe.engines.onednn.layouts import View, view
from geeps_caffe.engines.onednn.recipe import (
    HostBinding,
    Kit,
    Recipe,
    Uses,
    port_shapes,
)

_GRADIENT = "param0.diff"
_LEAST = 1 << 16  # elements of a gradient; all parts of a smaller one stay in a cache
_ANY_THREADS = "brg:"  # in the name of code whose bits don't depend on their number
_ZERO = np.zeros((), np.float32)

_Copy: TypeAlias = tuple[Array, Array]  # to, from


@dataclass(frozen=True)
class _Sizes:
    """Of the products: in each block of outputs (deep, records) x (records, wide)."""

    parts: int
    records: int  # of a part
    inputs: int
    deep: int  # inputs, padding included
    outputs: int
    wide: int  # outputs of a block, the last one's padding included

    @property
    def blocks(self) -> int:
        """Blocks of outputs."""
        return -(-self.outputs // self.wide)

    def copies(
        self, bottom: Array, padded: Array, diffs: Array, blocks: Array
    ) -> list[_Copy]:
        """What brings a part's bottom and its top's diff into blocks.

        Args:
            bottom: (records, inputs).
            padded: elements of (records, deep).
            diffs: (records, outputs).
            blocks: elements of (blocks, records, wide).
        """
        blocks = blocks.reshape(self.blocks, self.records, self.wide)
        whole = self.outputs // self.wide
        cut = whole * self.wide
        full = diffs[:, :cut].reshape(self.records, whole, self.wide)
        found = _pad(padded.reshape(self.records, self.deep), bottom)
        found.append((blocks[:whole], full.swapaxes(0, 1)))
        if whole < self.blocks:
            found += _pad(blocks[-1], diffs[:, cut:])
        return found


def _pad(rows: Array, source: Array) -> list[_Copy]:
    """Rows that are wider than their source have zeros behind."""
    width = source.shape[1]
    found: list[_Copy] = [(rows[:, :width], source)]
    return found if width == rows.shape[1] else [*found, (rows[:, width:], _ZERO)]


def make_part_sums(kit: Kit, request: Request, weights: View) -> Recipe | None:
    """The recipe; None where parts had better be made and added up one by one.

    Also where the table's layout is none that products can write.
    """
    given = request.given.get("param0", plain_layout(weights.shape))
    table = kit.layouts.find(given, weights)
    wanted = {port for port in request.shapes if port.endswith(".diff")}
    if table is None or "bottom0.diff" in wanted or _GRADIENT not in wanted:
        return None
    outputs, inputs = weights.logical
    if outputs * inputs < _LEAST:
        return None
    records = port_shapes(request)[0][0] // request.parts
    turned = _turned(table)
    wide = outputs if turned else _wide(table)
    if not wide:
        return None
    deep = table.padded_dims[1]
    sizes = _Sizes(request.parts, records, inputs, deep, outputs, wide)
    recipe = Recipe(kit)
    for port in ("bottom0", "top0.diff"):
        shape = request.shapes[port]
        recipe.port(port, kit.api.plain(shape), view(shape))
    recipe.port(_GRADIENT, table, weights)
    maker = _Maker(recipe, sizes, turned=turned)
    maker.gather()
    if "param1.diff" in wanted:
        shape = request.shapes["param1.diff"]
        recipe.port("param1.diff", kit.api.plain(shape), view(shape))
        recipe.bound_host(_bias_sum(sizes))
    return recipe if maker.add_up(range(sizes.parts), _GRADIENT, []) else None


def _turned(table: Md) -> bool:
    """Whether all inputs of an output lie together."""
    return not table.blocks and table.strides == (table.dims[1], 1)


def _wide(table: Md) -> int:
    """How many outputs lie together for each input; 0 if not so.

    Where inputs are in blocks, these must follow each other without a gap.
    """
    outputs, deep = table.padded_dims
    axes = tuple(axis for axis, _ in table.blocks)
    if axes not in ((), (0,), (1, 0)):
        return 0
    extents = dict(table.blocks)
    wide, step = extents.get(0, outputs), extents.get(1, 1)
    dense = table.strides[1] == step * wide
    return wide if dense and (not axes or table.strides[0] == deep * wide) else 0


class _Maker:
    """Adds the steps to a recipe."""

    def __init__(self, recipe: Recipe, sizes: _Sizes, *, turned: bool) -> None:
        self._recipe, self._sizes = recipe, sizes
        api, n = recipe.kit.api, sizes
        inputs = api.plain((1, n.records, n.deep))
        diffs = api.plain((n.blocks, n.records, n.wide))
        self._inputs = [recipe.temporary(inputs) for _ in range(n.parts)]
        self._diffs = [recipe.temporary(diffs) for _ in range(n.parts)]
        left, self._right = (diffs, inputs) if turned else (inputs, diffs)
        self._left = api.permuted(left, (0, 2, 1))
        self._factors = list(zip(self._inputs, self._diffs, strict=True))
        self._made = api.plain((n.blocks, n.deep, n.wide))
        if turned:
            self._factors = [(diff, bottom) for bottom, diff in self._factors]
            self._made = api.plain((1, n.outputs, n.deep))

    def gather(self) -> None:
        """Copy the records of each part together."""
        sizes, inputs, diffs = self._sizes, self._inputs, self._diffs

        def bind(buffers: Mapping[str, Array]) -> Call:
            bottom, top = (
                buffers[port].reshape(sizes.records, sizes.parts, -1)
                for port in ("bottom0", "top0.diff")
            )
            copies: list[_Copy] = []
            for part in range(sizes.parts):
                names = inputs[part], diffs[part]
                padded, blocks = (buffers[name].view(np.float32) for name in names)
                copies += sizes.copies(bottom[:, part], padded, top[:, part], blocks)
            return partial(_copy, copies)

        self._recipe.bound_host(bind)

    def add_up(self, parts: Sequence[int], target: str, more: list[str]) -> bool:
        """Make `target` the sum of parts and of `more`; False where oneDNN can't."""
        if len(parts) == 1:
            return self._product(parts[0], target, more)
        even, odd = parts[0::2], parts[1::2]
        between = target
        if len(odd) > 1:  # else it may lie where the sum will
            between = self._recipe.temporary(self._made)
        more = [between, *more]
        return self.add_up(even, between, []) and self.add_up(odd, target, more)

    def _product(self, part: int, target: str, more: list[str]) -> bool:
        """Make `target` a part and then, one after the other, the arrays of `more`."""
        api, made = self._recipe.kit.api, self._made
        add = combine(Algorithm.ADD, made)
        ops = [add_old(1.0) if name == target else add for name in more]
        attributes = api.attributes(ops)
        arrays = (self._left, self._right, None, made)
        desc = api.primitive_desc("matmul", *arrays, attributes=attributes)
        if desc is None or not desc.implementation.startswith(_ANY_THREADS):
            return False
        left, right = self._factors[part]
        uses: Uses = {
            Arg.SRC: (left, self._left),
            Arg.WEIGHTS: (right, self._right),
            Arg.DST: (target, made),
        }
        others = {post_op_src(i): n for i, n in enumerate(more) if n != target}
        uses |= {arg: (name, made) for arg, name in others.items()}
        self._recipe.run(desc, uses)
        return True


def _bias_sum(sizes: _Sizes) -> HostBinding:
    """What adds the top's diff up: over records of each part, then over parts."""

    def bind(buffers: Mapping[str, Array]) -> Call:
        rows = np.empty((sizes.parts, sizes.outputs), np.float32)
        spare = np.empty((sizes.parts.bit_length(), sizes.outputs), np.float32)
        top = buffers["top0.diff"].reshape(sizes.records, sizes.parts, sizes.outputs)
        parts = [top[:, part] for part in range(sizes.parts)]
        return partial(
            _add_bias, parts, list(rows), buffers["param1.diff"], list(spare)
        )

    return bind


def _add_bias(
    parts: list[Array], rows: list[Array], target: Array, spare: list[Array]
) -> None:
    for part, row in zip(parts, rows, strict=True):
        np.add.reduce(part, axis=0, out=row)
    if len(rows) == 1:
        np.copyto(target, rows[0])
    else:
        add_tree(rows, target, spare)


def _copy(copies: list[_Copy]) -> None:
    for target, source in copies:
        np.copyto(target, source)
