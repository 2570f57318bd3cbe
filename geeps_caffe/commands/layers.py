"""layers: every layer type, its parameters with types and defaults, and what it does.

What is said comes from the layers' docstrings and from caffe.proto; docs/layers.md is
the same as Markdown (`geeps-caffe layers -markdown`).
"""

import inspect
from collections.abc import Iterator

from geeps_caffe.config.flags import Flag, parse, usage
from geeps_caffe.errors import UsageError, unknown
from geeps_caffe.layers import LAYERS
from geeps_caffe.layers.base import Layer
from prototxt.manual import FieldEntry, MessageEntry, manual

FLAGS = (
    Flag("markdown", False, "Print all types as a Markdown page"),
    Flag("help", False, "Show this help"),
)
_USAGE = """layers: Describe layer types.
Usage:
    layers [FLAGS] [TYPE ...]

  Flags:
"""

#: Parameters that a layer type takes besides the field named after its module.
BORROWED: dict[str, tuple[str, ...]] = {
    "Data": ("transform_param",),
    "Deconvolution": ("convolution_param",),
    "ImageData": ("transform_param",),
    "Im2col": ("convolution_param",),
    "InfogainLoss": ("loss_param", "softmax_param"),
    "LSTM": ("recurrent_param",),
    "MultinomialLogisticLoss": ("loss_param",),
    "RNN": ("recurrent_param",),
    "SigmoidCrossEntropyLoss": ("loss_param",),
    "SoftmaxWithLoss": ("loss_param", "softmax_param"),
    "WindowData": ("transform_param",),
}


def main(argv: list[str]) -> int:
    """Print all types in a line each, or the named ones in full."""
    line = parse(argv, FLAGS)
    if line.switch("help"):
        print(_USAGE + usage(FLAGS))
    elif line.switch("markdown"):
        print(page(), end="")
    elif line.words:
        for name in line.words:
            print(describe(_find(name)))
    else:
        width = max(map(len, LAYERS))
        for name, layer in sorted(LAYERS.items(), key=lambda item: item[0].lower()):
            print(f"{name:<{width}}  {meaning(layer)[0]}")
    return 0


def _find(name: str) -> type[Layer]:
    if name not in LAYERS:
        raise UsageError(unknown("layer type", name, LAYERS))
    return LAYERS[name]


def meaning(layer: type[Layer]) -> list[str]:
    """The lines of a layer's docstring."""
    return (inspect.getdoc(layer) or "").splitlines()


def messages(layer: type[Layer]) -> Iterator[tuple[str, MessageEntry]]:
    """The parameter fields of a layer type, and what is in them."""
    of_layer = manual()["LayerParameter"]
    own = f"{layer.__module__.rpartition('.')[2]}_param"
    for name in (own, *BORROWED.get(layer.type_name, ())):
        field = of_layer.field(name)
        if field is not None:
            yield name, manual()[field.type]


def parameters(entry: MessageEntry) -> list[tuple[str, str, str, str]]:
    """Name, type, default and meaning of each field that is Caffe's own."""
    return [
        (field.name, _type(entry, field), field.default or "-", field.meaning)
        for field in entry.fields
        if not field.forks
    ]


def _type(entry: MessageEntry, field: FieldEntry) -> str:
    """A field's type; of an enum the values that can be given."""
    enum = manual().get(f"{entry.name}.{field.type}")
    text = (
        " or ".join(v.name for v in enum.fields if not v.forks) if enum else field.type
    )
    return f"{text}, repeated" if field.label == "repeated" else text


def ends(layer: type[Layer]) -> str:
    """How many bottoms and tops a layer takes."""
    return f"{_count(layer.bottoms, 'bottom')}, {_count(layer.tops, 'top')}"


def _count(limits: tuple[int, int | None], what: str) -> str:
    least, most = limits
    if most is None:
        return f"{least} or more {what}s"
    text = str(least) if least == most else f"{least} to {most}"
    return f"{text} {what}" if most == 1 and least == 1 else f"{text} {what}s"


def describe(layer: type[Layer]) -> str:
    """A layer type as text."""
    lines = [f"{layer.type_name} ({ends(layer)})", ""]
    lines += [f"  {text}".rstrip() for text in meaning(layer)]
    for name, entry in messages(layer):
        rows = parameters(entry)
        widths = [max(len(row[i]) for row in rows) for i in range(3)] if rows else []
        lines += ["", f"  {name}"]
        for row in rows:
            cells = [f"{cell:<{w}}" for cell, w in zip(row, widths, strict=False)]
            lines.append(f"    {'  '.join(cells)}  {row[3]}".rstrip())
    return "\n".join(lines) + "\n"


def page() -> str:
    """All layer types as one Markdown page."""
    text = _HEAD
    for name in sorted(LAYERS, key=str.lower):
        text += _section(LAYERS[name])
    return text


_HEAD = """# Layers

Every layer type, what it computes and what it takes. A parameter stands in its message,
such as `pooling_param { pool: MAX kernel_size: 2 }`. The same on the command line:
`geeps-caffe layers Pooling`. (This page is made by `geeps-caffe layers -markdown`.)
"""


def _section(layer: type[Layer]) -> str:
    body = "\n".join(meaning(layer))
    text = f"\n## {layer.type_name}\n\n{ends(layer)}\n\n```text\n{body}\n```\n"
    for name, entry in messages(layer):
        rows = parameters(entry)
        if rows:
            text += f"\n`{name}`\n\n| name | type | default | meaning |\n"
            text += "| --- | --- | --- | --- |\n"
            text += "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in rows)
    return text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
