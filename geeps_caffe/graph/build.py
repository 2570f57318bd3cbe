"""From a net's message to a Graph: rules, splits, layers, shapes, params, needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from geeps_caffe.device.array import Shape
from geeps_caffe.errors import GraphError, unknown
from geeps_caffe.graph.filter import NetState, included
from geeps_caffe.graph.forks import fork_of
from geeps_caffe.graph.graph import Graph, Node, Value
from geeps_caffe.graph.needs import with_needs
from geeps_caffe.graph.params import ParamTable
from geeps_caffe.graph.scratch_tops import without_scratch_tops
from geeps_caffe.graph.sequences import with_clip_shapes
from geeps_caffe.graph.splits import Absent, Placed, insert_splits
from geeps_caffe.layers import LAYERS
from geeps_caffe.layers.base import Layer, Setting
from geeps_caffe.layers.sequence_data import SequenceData, stands_in

InputShapes = Mapping[str, Shape]


@dataclass(frozen=True)
class Source:
    """A parsed net and where its layers stand."""

    message: Any  # NetParameter
    path: str = ""
    lines: tuple[int, ...] = ()  # of each entry in message.layer

    def place(self, index: int) -> str:
        """ "file:line" of a layer's entry; empty where it is not known."""
        return f"{self.path}:{self.lines[index]}" if index < len(self.lines) else ""


def build_graph(
    source: Source,
    state: NetState,
    setting: Setting | None = None,
    input_shapes: InputShapes | None = None,
) -> Graph:
    """The graph of the net in this state.

    Args:
        source: the net, in Caffe's present format.
        state: phase, level and stages that include and exclude rules see.
        setting: rank, seed and so on for all layers; phase and place are filled in.
        input_shapes: replace the shapes that Input layers declare, by blob.

    Raises:
        GraphError, LayerError: with the layer's name, type, place and values.
    """
    message = source.message
    placed: list[Placed] = []
    left_out: list[Placed] = []
    for i, spec in enumerate(message.layer):
        place = source.place(i)
        part = placed if included(spec, state, place) else left_out
        part.append(Placed(spec, place))
    if not placed:
        raise GraphError(_without_layers(source, state))
    base = setting or Setting()
    base = replace(base, phase=state.phase, level=state.level, stages=state.stages)
    builder = _Builder(base, dict(input_shapes or {}))
    read = with_clip_shapes(without_scratch_tops(placed))
    for entry in insert_splits(read, Absent(left_out, str(state))):
        builder.add(entry)
    return builder.graph(message.name, state.phase, message.force_backward)


def _without_layers(source: Source, state: NetState) -> str:
    where = f"{source.path}: " if source.path else ""
    count = len(source.message.layer)
    if not count:
        return f"{where}the net has no layers; is this the right file, and whole?"
    stages = f", stages {' '.join(state.stages)}" if state.stages else ""
    return (
        f"{where}the net has no layers in phase {state.phase} (level {state.level}"
        f"{stages}); include and exclude rules leave all {count} out"
    )


def reshape_graph(graph: Graph, input_shapes: InputShapes) -> Graph:
    """The same layers at other input shapes; params keep their shapes.

    Raises:
        LayerError: a param would change its shape, or a layer refuses the shapes.
    """
    shapes: dict[str, Shape] = {}
    for node in graph.nodes:
        bottom = [shapes[b] for b in node.bottoms]
        tops = _top_shapes(node.layer, node.tops, bottom, input_shapes)
        shapes |= dict(zip(node.tops, tops, strict=True))
        specs = node.layer.param_specs(bottom)
        for key, spec in zip(node.params, specs, strict=True):
            if spec.shape != graph.params[key].shape and not graph.params[key].name:
                raise GraphError(
                    f"{node.title}: at bottom shape {bottom[0]} its blob {key!r} would "
                    f"have shape {spec.shape}, but it has {graph.params[key].shape}; "
                    "learnable blobs can't be reshaped"
                )
    values = {n: replace(v, shape=shapes[n]) for n, v in graph.values.items()}
    return replace(graph, values=values, input_shapes=dict(input_shapes))


class _Builder:
    def __init__(self, setting: Setting, input_shapes: dict[str, Shape]) -> None:
        self.setting = setting
        self.input_shapes = input_shapes
        self.nodes: list[Node] = []
        self.values: dict[str, Value] = {}
        self.params = ParamTable()
        self.present: dict[str, str] = {}  # blob -> its present value
        self.unread: set[str] = set()  # blobs that nobody has read yet

    def add(self, entry: Placed) -> None:
        spec = entry.spec
        layer = self._layer(spec, entry.place)
        bottoms = tuple(self.present[blob] for blob in spec.bottom)
        for blob in spec.bottom:
            self.unread.discard(blob)
        _check_counts(layer)
        names = self._top_names(layer)
        bottom = [self.values[b].shape for b in bottoms]
        layer.setup(bottom)
        tops = tuple(self._value_name(layer, i, n) for i, n in enumerate(names))
        shapes = _top_shapes(layer, names, bottom, self.input_shapes)
        for name, blob, shape in zip(tops, names, shapes, strict=True):
            self.values[name] = Value(name, blob, shape, len(self.nodes))
            self.present[blob] = name
            if blob in spec.top:  # one that was made for a loss is no output
                self.unread.add(blob)
        specs = layer.param_specs(bottom)
        self.nodes.append(
            Node(
                index=len(self.nodes),
                name=spec.name,
                type=spec.type,
                layer=layer,
                bottoms=bottoms,
                tops=tops,
                params=self.params.add(layer, specs),
                param_shapes=tuple(spec.shape for spec in specs),
                place=entry.place,
                in_place=bool(spec.bottom) and names[:1] == (spec.bottom[0],),
                loss_weights=_loss_weights(layer, len(tops)),
            )
        )

    def _layer(self, spec: Any, place: str) -> Layer:
        if spec.type not in LAYERS:
            raise GraphError(_unknown_type(spec, place))
        phase = (
            ("TRAIN", "TEST")[spec.phase]
            if spec.HasField("phase")
            else self.setting.phase
        )
        setting = replace(self.setting, place=place, phase=phase)
        kind = SequenceData if stands_in(spec, place) else LAYERS[spec.type]
        return kind(spec, setting)

    def _top_names(self, layer: Layer) -> tuple[str, ...]:
        names = tuple(layer.spec.top)
        missing = layer.tops[0] - len(names)
        if layer.auto_tops and missing > 0:
            names += tuple(self._automatic(layer, i) for i in range(missing))
        return names

    def _automatic(self, layer: Layer, index: int) -> str:
        """Caffe's name for a top without one; further ones have names of their own."""
        if index == 0 and "(automatic)" not in self.present:
            return "(automatic)"
        return f"({layer.spec.name}:automatic{index})"

    def _value_name(self, layer: Layer, index: int, blob: str) -> str:
        """The new value of a top; an error when another layer made it already."""
        if blob not in self.present:
            return blob
        bottom = layer.spec.bottom
        if index < len(bottom) and bottom[index] == blob:
            states = sum(v.blob == blob for v in self.values.values())
            return f"{blob}#{states}"
        first = self.nodes[self.values[self.present[blob]].source]
        title = f"{layer.title}: top blob {blob!r}"
        if index < len(bottom) and self._is_copy(bottom[index], blob):
            raise GraphError(
                f"{title} can't be computed in place, as other layers read the "
                f"{blob!r} of {first.title} too; give the top another name"
            )
        raise GraphError(
            f"{title} is produced by {first.title} already; "
            "rename one of them, or name it as bottom too to compute in place"
        )

    def _is_copy(self, bottom: str, blob: str) -> bool:
        """Whether a Split for several readers stands between a blob and a bottom."""
        node = self.nodes[self.values[self.present[bottom]].source]
        made = node.type == "Split" and bottom.startswith(f"{node.name}_")
        return made and self.values[node.bottoms[0]].blob == blob

    def graph(self, name: str, phase: str, force: bool) -> Graph:
        return Graph(
            name=name,
            phase=phase,
            nodes=with_needs(self.nodes, self.params.params, force),
            values=self.values,
            params=self.params.params,
            inputs=tuple(t for n in self.nodes if n.type == "Input" for t in n.tops),
            outputs=tuple(sorted(self.unread)),
            input_shapes=self.input_shapes,
        )


def _unknown_type(spec: Any, place: str) -> str:
    where = f" at {place}" if place else ""
    fork = fork_of(spec.type)
    if not spec.type:
        advice = 'no type is given; give one, as in type: "ReLU"'
    elif fork is None:
        advice = unknown("layer type", spec.type, LAYERS)
    else:
        advice = (
            f"type {spec.type!r} is not of Caffe but of {fork}; replace the layer, or "
            "write it as a Python layer"
        )
    return f"layer {spec.name!r}{where}: {advice}"


def _top_shapes(
    layer: Layer,
    tops: Sequence[str],
    bottom: Sequence[Shape],
    input_shapes: InputShapes,
) -> list[Shape]:
    shapes = [tuple(int(d) for d in s) for s in layer.infer_shapes(bottom)]
    if layer.type_name == "Input":
        shapes = [
            tuple(input_shapes.get(t, s)) for t, s in zip(tops, shapes, strict=True)
        ]
    assert len(shapes) == len(tops), layer.title
    return shapes


def _loss_weights(layer: Layer, tops: int) -> tuple[float, ...]:
    given = tuple(layer.spec.loss_weight)
    if given:
        if len(given) != tops:
            layer.fail(
                f"{len(given)} loss_weight entries for {tops} tops; give one for each"
            )
        return given
    return tuple(1.0 if layer.is_loss and i == 0 else 0.0 for i in range(tops))


def _check_counts(layer: Layer) -> None:
    bottoms, tops = len(layer.spec.bottom), len(layer.spec.top)
    _check_count(layer, "bottom", bottoms, layer.bottoms)
    least = 0 if layer.auto_tops else layer.tops[0]
    _check_count(layer, "top", tops, (least, layer.tops[1]))
    if layer.same_count and bottoms != tops:
        layer.fail(f"{bottoms} bottoms and {tops} tops; it needs as many of each")


def _check_count(
    layer: Layer, what: str, found: int, limits: tuple[int, int | None]
) -> None:
    least, most = limits
    if found >= least and (most is None or found <= most):
        return
    if most is None:
        wanted = f"at least {least}"
    elif least == most:
        wanted = f"exactly {least}"
    else:
        wanted = f"{least} to {most}"
    layer.fail(f"{found} {what} blobs; it takes {wanted}")
