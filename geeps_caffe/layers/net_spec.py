"""Nets written as Python expressions: `L.Convolution(n.data, num_output=20)`.

`NetSpec` gives names to tops; `to_proto` makes the NetParameter. A layer's keyword
arguments are fields of its own parameter message (`num_output`), or of the layer
(`loss_weight`, `include`, `transform_param`). `ntop` says how many tops there are,
`in_place` that the top is the bottom.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

from geeps_caffe.errors import GraphError, unknown
from prototxt.schema import LayerParameter, Message, NetParameter, message_class

#: Layers whose parameters are those of another, which pycaffe wants named.
_BORROWED = {
    "Deconvolution": "convolution_param",
    "Im2col": "convolution_param",
    "LSTM": "recurrent_param",
    "RNN": "recurrent_param",
}


@cache
def param_names() -> Mapping[str, str]:
    """Layer type -> the field of its parameters: InnerProduct, inner_product_param."""
    fields = [
        field
        for field in LayerParameter.DESCRIPTOR.fields
        if field.name.endswith("_param") and field.message_type is not None
    ]
    own = {f.message_type.name.removesuffix("Parameter"): f.name for f in fields}
    return _BORROWED | own


class Top:
    """One output of a layer, which other layers take as their bottom."""

    def __init__(self, fn: "Function", n: int) -> None:
        self.fn, self.n = fn, n

    def to_proto(self) -> Message:
        """The net that ends here."""
        return to_proto(self)

    def _update(self, params: Mapping[str, Any]) -> None:
        self.fn.params.update(params)

    def _add_to(self, net: "_Net") -> None:
        net.add(self.fn)


class Function:
    """A layer: its type, its bottoms, and what was said about it."""

    def __init__(
        self, type_name: str, inputs: Iterable[Any], params: Mapping[str, Any]
    ) -> None:
        self.type_name = type_name
        self.inputs: tuple[Top, ...] = tuple(inputs)
        for index, bottom in enumerate(self.inputs):
            if not isinstance(bottom, Top):
                raise TypeError(
                    f"{type_name}: input {index} is {bottom!r}, no top of a layer; "
                    "parameters are given by name, and a layer of several tops is "
                    "unpacked before one of them is used"
                )
        self.params = dict(params)
        self.ntop = int(self.params.pop("ntop", 1))
        self.in_place = bool(self.params.pop("in_place", False))
        self.tops = tuple(Top(self, n) for n in range(self.ntop))

    def _update(self, params: Mapping[str, Any]) -> None:
        self.params.update(params)

    def _add_to(self, net: "_Net") -> None:
        net.add(self)

    def fill(self, layer: Message) -> None:
        """Write the parameters into a LayerParameter.

        Raises:
            GraphError: neither the layer nor its parameters have such a field.
        """
        own = param_names().get(self.type_name)
        for name, value in self.params.items():
            elsewhere = name.endswith("param") or name in _fields(layer)
            if own is None or (elsewhere and name not in _fields(getattr(layer, own))):
                assign_proto(layer, name, value)
            else:
                assign_proto(getattr(layer, own), name, value)


class _Net:
    """The layers of a net in the making."""

    def __init__(self, names: Mapping[Any, str]) -> None:
        self._names: dict[Top | Function, str] = dict(names)
        self._counts: Counter[str] = Counter()
        self._layers: OrderedDict[Function, Message] = OrderedDict()

    def message(self) -> Message:
        """The net."""
        return NetParameter(layer=self._layers.values())

    def add(self, fn: Function) -> None:
        """A layer, after those that it hangs on."""
        for entry in _below(fn, self._layers):
            self._layers[entry] = self._layer(entry)

    def _layer(self, fn: Function) -> Message:
        layer = LayerParameter(type=fn.type_name)
        layer.bottom.extend(self._layers[b.fn].top[b.n] for b in fn.inputs)
        tops = layer.bottom if fn.in_place else [self._name(top) for top in fn.tops]
        layer.top.extend(tops)
        layer.name = self._layer_name(fn)
        fn.fill(layer)
        return layer

    def _layer_name(self, fn: Function) -> str:
        """Its own (of a layer without tops), or that of its first top."""
        if fn.ntop == 0:
            return self._name(fn)
        return self._name(fn.tops[0])

    def _name(self, entry: Top | Function) -> str:
        """The name that was given, or the type and a number."""
        if entry not in self._names:
            kind = entry.fn.type_name if isinstance(entry, Top) else entry.type_name
            self._counts[kind] += 1
            self._names[entry] = f"{kind}{self._counts[kind]}"
        return self._names[entry]


def _below(fn: Function, done: Mapping[Function, Any]) -> Iterator[Function]:
    """The layers that a layer hangs on, then itself; those that are `done` left out.

    A stack, since nets may be deeper than Python's calls.
    """
    stack: list[tuple[Function, bool]] = [(fn, False)]
    seen: set[Function] = set(done)
    while stack:
        entry, ready = stack.pop()
        if ready:
            yield entry
        elif entry not in seen:
            seen.add(entry)
            stack.append((entry, True))
            stack += [(b.fn, False) for b in reversed(entry.inputs)]


class NetSpec:
    """Tops by name; what is set as an attribute or an item becomes part of the net."""

    tops: "OrderedDict[str, Top | Function]"

    def __init__(self) -> None:
        super().__setattr__("tops", OrderedDict())

    def __setattr__(self, name: str, value: Any) -> None:
        self.tops[name] = value

    def __getattr__(self, name: str) -> Any:
        if name not in self.tops:
            raise AttributeError(unknown("top", name, self.tops))
        return self.tops[name]

    def __delattr__(self, name: str) -> None:
        del self.tops[name]

    __setitem__, __delitem__ = __setattr__, __delattr__

    def __getitem__(self, name: str) -> Any:
        return self.tops[name]

    def keys(self) -> list[str]:
        """The names."""
        return list(self.tops)

    def vals(self) -> list[Any]:
        """The tops."""
        return list(self.tops.values())

    def update(self, name: str, params: Mapping[str, Any]) -> None:
        """Give a top's layer further parameters."""
        self.tops[name]._update(params)

    def to_proto(self) -> Message:
        """The NetParameter."""
        net = _Net({top: name for name, top in self.tops.items()})
        for top in self.tops.values():
            top._add_to(net)
        return net.message()


def to_proto(*tops: Top | Function) -> Message:
    """The net that ends in these tops; names are types and numbers."""
    net = _Net({})
    for top in tops:
        top._add_to(net)
    return net.message()


def assign_proto(proto: Message, name: str, value: Any) -> None:
    """Set a field: messages from dicts, repeated fields from lists or single values.

    Raises:
        GraphError: there is no such field.
        TypeError, ValueError: the field has no such value.
    """
    if name not in _fields(proto):
        known = unknown("field", name, _fields(proto))
        raise GraphError(f"{proto.DESCRIPTOR.name}: {known}")
    field = getattr(proto, name)
    if isinstance(value, dict) and not hasattr(field, "extend"):
        for key, part in value.items():
            assign_proto(field, key, part)
        return
    try:
        if hasattr(field, "extend"):
            _extend(field, value if isinstance(value, list | tuple) else [value])
        else:
            setattr(proto, name, value)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{proto.DESCRIPTOR.name}: {name}: {error}") from error


def _fields(proto: Message) -> Mapping[str, Any]:
    found: Mapping[str, Any] = proto.DESCRIPTOR.fields_by_name
    return found


def _extend(field: Any, values: Iterable[Any]) -> None:
    for value in values:
        if not isinstance(value, dict):
            field.append(value)
            continue
        item = field.add()
        for key, part in value.items():
            assign_proto(item, key, part)


LayerMaker: TypeAlias = Callable[..., Any]


class Layers:
    """`L`: a function for each layer type."""

    def __getattr__(self, name: str) -> LayerMaker:
        if name.startswith("__"):
            raise AttributeError(name)

        def make(*bottoms: Any, **params: Any) -> Any:
            fn = Function(name, bottoms, params)
            if fn.ntop == 0:
                return fn
            return fn.tops[0] if fn.ntop == 1 else fn.tops

        return make


class Parameters:
    """`P`: the values of the layers' enums, as in `P.Pooling.MAX`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return message_class(f"{name}Parameter")
        except KeyError:
            raise AttributeError(unknown("layer type", name, param_names())) from None


layers = Layers()
params = Parameters()
