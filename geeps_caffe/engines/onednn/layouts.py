"""Names for the ways in which oneDNN lays out elements.

A name is oneDNN's own notation, computed from strides and blocks: letters are axes
from the outermost to the innermost, a capital one is blocked, then the blocks follow.
`aBcd16b` is (N, C, H, W) with channels in groups of 16, padded with zeros to whole
groups. Where oneDNN sees other axes than the array has, a reshape stands before it:
`2x128x48x5x5:aBcde16b` is a (256, 48, 5, 5) array of weights in two groups. An array
in C order is always "plain", whatever oneDNN calls it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from geeps_caffe.device.array import Shape, count
from geeps_caffe.engines.engine import Layout
from geeps_caffe.engines.onednn.api import Api
from geeps_caffe.engines.onednn.descriptors import Md
from geeps_caffe.engines.onednn.library import OneDnnError


@dataclass(frozen=True)
class View:
    """How an operation's array becomes oneDNN's: a reshape, then two axes swapped.

    `shape` is the array's own, `dims` its reshape. Swapping is its own inverse.
    """

    shape: Shape
    dims: Shape
    swap: tuple[int, int] | None = None

    @property
    def order(self) -> Shape:
        """The permutation of the axes of `dims`."""
        axes = list(range(len(self.dims)))
        if self.swap is not None:
            i, j = self.swap
            axes[i], axes[j] = j, i
        return tuple(axes)

    @property
    def logical(self) -> Shape:
        """The extents that oneDNN sees."""
        return tuple(self.dims[i] for i in self.order)


def view(shape: Shape) -> View:
    """The array as it is."""
    return View(shape, shape)


def images(shape: Shape, axes: int) -> View:
    """The array as (N, C, spatial axes ...): all before the channels are one axis."""
    inner = shape[len(shape) - axes - 1 :]
    return View(shape, (count(shape) // count(inner), *inner))


class Layouts:
    """The layouts that were named so far, by name and shape of the array."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._known: dict[tuple[str, Shape], Md] = {}
        self._tags: dict[str, int] = {}
        self._named: dict[tuple[object, ...], Layout] = {}

    def name(self, md: Md, view: View) -> Layout:
        """The layout of an array that oneDNN sees as `md` through `view`."""
        key = (md.dims, md.padded_dims, md.strides, md.blocks, view)
        if key not in self._named:
            self._named[key] = self._new_name(md, view)
        return self._named[key]

    def _new_name(self, md: Md, view: View) -> Layout:
        own = self._turned(md, view)
        if is_plain(own):
            return Layout("plain", md.nbytes)
        reshape = "" if view.dims == view.shape else _text(view.dims) + ":"
        name = reshape + spell(own)
        self._known.setdefault((name, view.shape), own)
        return Layout(name, md.nbytes)

    def find(self, layout: Layout, view: View) -> Md | None:
        """What oneDNN sees through `view`; None if `layout` is of another view."""
        if layout.plain:
            return self._turned(self._api.plain(view.dims), view)
        own = self.own(layout, view.shape)
        return self._turned(own, view) if own.dims == view.dims else None

    def own(self, layout: Layout, shape: Shape) -> Md:
        """The descriptor of an array of `shape`, reshaped as the name says."""
        key = (layout.name, shape)
        if key not in self._known:
            self._known[key] = self._remake(layout.name, shape)
        return self._known[key]

    def rows(self, shape: Shape, layout: Layout, rows: int) -> Layout | None:
        """The layout of so many rows of an array; see `Engine.rows_layout`."""
        whole = self.own(layout, shape)
        if whole.dims != shape or rows > shape[0] or rows % _block(whole, 0):
            return None
        if _outer(whole)[0][0] != 0 or not _dense(whole):
            return None
        found = Layout(layout.name, whole.nbytes // whole.padded_dims[0] * rows)
        try:
            part = self.own(found, (rows, *shape[1:]))
        except OneDnnError:
            return None  # the name was made up here, for the whole alone
        return found if part.nbytes == found.nbytes else None

    def _turned(self, md: Md, view: View) -> Md:
        if view.swap is None:
            return md
        return self._api.permuted(md, view.order)

    def _remake(self, name: str, shape: Shape) -> Md:
        """A layout that was named elsewhere, through oneDNN's table of names."""
        if name == "plain":
            return self._api.plain(shape)
        reshape, _, letters = name.rpartition(":")
        dims = tuple(map(int, reshape.split("x"))) if reshape else shape
        if not self._tags:
            self._tags = {n: i for i, n in enumerate(self._tag_names())}
        tag = self._tags.get(letters)
        if tag is None or prod(dims) != prod(shape):
            raise OneDnnError(f"no layout {name!r} for an array of shape {shape}")
        return self._api.tagged(dims, tag)

    def _tag_names(self) -> Iterator[str]:
        tag = 0
        while True:
            name = self._api.library.dnnl_fmt_tag2str(tag).decode()
            if name.startswith("unknown"):
                return
            yield name
            tag += 1


def is_plain(md: Md) -> bool:
    """Whether elements are in C order, however oneDNN describes it.

    Axes of extent 1 have no place, and a block that is a whole axis changes nothing.
    """
    if md.padded_dims != md.dims or not _dense(md):
        return False
    walk = [axis for axis, extent, _ in _outer(md) if extent > 1]
    walk += [axis for axis, extent in md.blocks if extent > 1]
    return all(a <= b for a, b in pairwise(walk))


def spell(md: Md) -> str:
    """oneDNN's notation for `md`; strides and padding follow where unusual."""
    assert md.blocked, "opaque layouts are not asked for"
    blocked = {axis for axis, _ in md.blocks}
    outer = "".join(_letter(a, a in blocked) for a, _, _ in _outer(md))
    inner = "".join(f"{extent}{_letter(axis)}" for axis, extent in md.blocks)
    unusual = "" if _dense(md) else "@" + _text(md.strides)
    if md.padded_dims != _rounded(md):
        unusual += "^" + _text(md.padded_dims)
    return outer + inner + unusual


def _letter(axis: int, capital: bool = False) -> str:
    return chr(ord("A" if capital else "a") + axis)


def _text(shape: Shape) -> str:
    return "x".join(map(str, shape))


def _block(md: Md, axis: int) -> int:
    return prod(extent for a, extent in md.blocks if a == axis)


def _rounded(md: Md) -> Shape:
    blocks = (_block(md, axis) for axis in range(md.ndim))
    return tuple(-(-d // b) * b for d, b in zip(md.dims, blocks, strict=True))


def _outer(md: Md) -> list[tuple[int, int, int]]:
    """(axis, number of blocks, stride) from the outermost axis to the innermost."""
    rows = [
        (axis, md.padded_dims[axis] // _block(md, axis), md.strides[axis])
        for axis in range(md.ndim)
    ]
    return sorted(rows, key=lambda row: (-row[2], row[0]))


def _dense(md: Md) -> bool:
    """Whether each stride is the extent of all that lies inside."""
    step = prod(extent for _, extent in md.blocks)
    for _, extent, stride in sorted(_outer(md), key=lambda row: (row[2], row[1])):
        if extent > 1 and stride != step:
            return False
        step *= extent
    return True
