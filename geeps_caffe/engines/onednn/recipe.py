"""A pass of an operation as a row of oneDNN primitives, before any array exists.

An operation's file makes a Recipe from a Request; the engine reads the layouts from
it to describe the pass, and puts arrays under it to bind the pass. Arrays are known
by buffer names: the operation's ports, and temporaries that lie in the scratch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from geeps_caffe.device.array import Array, Shape, aligned
from geeps_caffe.engines.engine import Call, Layout, Request, SavedArray
from geeps_caffe.engines.onednn.api import Api
from geeps_caffe.engines.onednn.constants import Arg
from geeps_caffe.engines.onednn.descriptors import (
    Handle,
    Md,
    PostOp,
    PrimitiveDesc,
    add_old,
)
from geeps_caffe.engines.onednn.layouts import Layouts, View, view

Uses: TypeAlias = dict[Arg | int, tuple[str, Md]]  # buffer and how it is seen
HostFunction: TypeAlias = Callable[[Mapping[str, Array]], None]
HostBinding: TypeAlias = Callable[[Mapping[str, Array]], Call]


@dataclass(frozen=True)
class Kit:
    """What operations make primitives with."""

    api: Api
    layouts: Layouts
    #: What is done to the result of the operation before it is written.
    post_ops: tuple[PostOp, ...] = ()
    #: Who made the processor, where that decides which code is faster.
    vendor: str = ""
    #: What was found out about operations, by them; shared by kits of one engine.
    known: dict[Any, bool] = field(default_factory=dict)

    @property
    def attributes(self) -> Handle | None:
        """The attributes of the primitive that makes the result."""
        return self.api.attributes(self.post_ops) if self.post_ops else None

    def given(self, request: Request, port: str, view: View) -> Md | None:
        """How the port lies already, seen through `view`; None where not fixed so."""
        layout = request.given.get(port)
        return None if layout is None else self.layouts.find(layout, view)

    def as_given(self, request: Request, port: str) -> Md:
        """How the port lies, with its own axes; plain where nothing is said."""
        own = view(request.shapes[port])
        return self.given(request, port, own) or self.api.plain(own.dims)


@dataclass(frozen=True)
class Step:
    """One primitive, and the buffer behind each of its arguments."""

    desc: PrimitiveDesc
    uses: Uses


@dataclass(frozen=True)
class HostStep:
    """A little NumPy work on the buffers, by name; the views are made once."""

    bind: HostBinding


@dataclass
class Recipe:
    """The steps of a pass, and how the buffers that they use lie."""

    kit: Kit
    layouts: dict[str, Layout] = field(default_factory=dict)  # of the ports
    temporaries: dict[str, Md] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)  # no step writes them
    #: Makes what steps write and read again: calls in several threads share none.
    own: dict[str, Callable[[], Array]] = field(default_factory=dict)
    saved: list[SavedArray] = field(default_factory=list)
    steps: list[Step | HostStep] = field(default_factory=list)

    def port(self, name: str, md: Md, view: View) -> None:
        """A port that the pass reads or writes."""
        self.layouts[name] = self.kit.layouts.name(md, view)

    def saved_port(self, name: str, nbytes: int) -> None:
        """A block of bytes that forward leaves for backward."""
        self.layouts[name] = Layout("plain", nbytes)

    def save(self, md: Md, shape: Shape = (), dtype: str = "uint8") -> str:
        """A block that this forward pass leaves for backward; returns its port."""
        name = f"saved{len(self.saved)}"
        self.saved.append(SavedArray(md.nbytes, shape or (md.nbytes,), dtype))
        self.saved_port(name, md.nbytes)
        return name

    def temporary(self, md: Md) -> str:
        """A buffer that is needed only while the pass runs."""
        name = f"temporary{len(self.temporaries)}"
        self.temporaries[name] = md
        return name

    def run(self, desc: PrimitiveDesc, uses: Uses) -> None:
        """Add a primitive."""
        self.steps.append(Step(desc, uses))

    def host(self, function: HostFunction) -> None:
        """Add a little NumPy work; it gets the arrays by buffer name."""
        self.bound_host(lambda buffers: partial(function, buffers))

    def bound_host(self, bind: HostBinding) -> None:
        """The same for a function that gets the arrays once and returns the call."""
        self.steps.append(HostStep(bind))

    def copy(self, source: tuple[str, Md], target: tuple[str, Md]) -> bool:
        """Add a reorder; False where oneDNN has none."""
        return self._reorder(source, target, ())

    def add(self, source: tuple[str, Md], target: tuple[str, Md]) -> bool:
        """Add a sum with what the target holds; False where oneDNN has none."""
        return self._reorder(source, target, (add_old(1.0),))

    def _reorder(
        self, source: tuple[str, Md], target: tuple[str, Md], ops: tuple[PostOp, ...]
    ) -> bool:
        desc = self.kit.api.reorder(source[1], target[1], ops)
        if desc is None:
            return False
        self.run(desc, {Arg.SRC: source, Arg.DST: target})
        return True

    @property
    def scratchpad(self) -> int:
        """Bytes of the neediest primitive's own scratch."""
        descs = [step.desc for step in self.steps if isinstance(step, Step)]
        return max((desc.scratch for desc in descs), default=0)

    @property
    def scratch(self) -> int:
        """Bytes of temporaries and of the primitives' own scratch."""
        sizes = [aligned(md.nbytes) for md in self.temporaries.values()]
        return sum(sizes) + aligned(self.scratchpad)

    @property
    def implementation(self) -> str:
        """oneDNN's names of the primitives, in the order in which they run."""
        descs = [step.desc for step in self.steps if isinstance(step, Step)]
        return ", ".join(desc.implementation for desc in descs)


Maker: TypeAlias = Callable[[Kit, Request], Recipe | None]


def port_shapes(request: Request) -> tuple[Shape, Shape]:
    """The shapes of bottom and top, whichever of data and diffs is there."""
    shapes = request.shapes
    bottom = shapes.get("bottom0") or shapes["bottom0.diff"]
    return bottom, shapes.get("top0") or shapes["top0.diff"]
