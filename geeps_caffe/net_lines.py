"""What Caffe logs while it builds a net, derived from the finished graph."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from geeps_caffe.data.hdf5 import read_file_list
from geeps_caffe.device.array import Shape, count
from geeps_caffe.glog import Line
from geeps_caffe.graph.filter import PHASES, NetState, included
from geeps_caffe.graph.graph import Graph, Node
from prototxt import Message, write_text
from prototxt import NetState as StateMessage

FIRST_ONLY = "hdf5.cpp:33"  # a place that logs once in a process
_ELEMENT_BYTES = 4  # Caffe counts float32


def state_message(phase: str, *merged: Message) -> Message:
    """The NetState of a net: its phase, with what else is in each message."""
    state = StateMessage()
    for message in merged:
        state.MergeFrom(message)
    state.phase = PHASES.index(phase)
    return state


def net_lines(net: Message, state: Message, graph: Graph) -> list[Line]:
    """All lines from the rules to "Network initialization done.".

    Args:
        net: the NetParameter that the graph was built from.
        state: its NetState message.
        graph: what became of it.
    """
    held = NetState(PHASES[state.phase], state.level, tuple(state.stage))
    lines = [line for layer in net.layer for line in rule_lines(layer, held)]
    lines.append(_parameters(net, state, held))
    used = 0
    for node in graph.nodes:
        lines += _connection(graph, node)
        lines += inner_lines(node)
        lines.append(Line("I", "net.cpp:124", f"Setting up {node.name}"))
        lines += _tops(graph, node)
        used += sum(count(graph.values[top].shape) for top in node.tops)
        text = f"Memory required for data: {used * _ELEMENT_BYTES}"
        lines.append(Line("I", "net.cpp:139", text))
        lines += _shared_params(graph, node)
    lines += [_backward(node) for node in reversed(graph.nodes)]
    named = {top for node in graph.nodes for top in node.layer.spec.top}
    for blob in sorted(named.intersection(graph.outputs)):
        text = f"This network produces output {blob}"
        lines.append(Line("I", "net.cpp:244", text))
    lines.append(Line("I", "net.cpp:257", "Network initialization done."))
    return lines


# -- which layers --------------------------------------------------------------


def rule_lines(layer: Message, state: NetState) -> list[Line]:
    """Why include and exclude rules of a layer do not hold, as far as Caffe looks."""
    lines: list[Line] = []
    for rule in layer.include or layer.exclude:
        reason = _broken(rule, state)
        if reason is None:
            break
        where, text = reason
        lines.append(
            Line("I", where, f"{text} specified by a rule in layer {layer.name}")
        )
    return lines


def _broken(rule: Message, state: NetState) -> tuple[str, str] | None:
    """The first condition of a rule that fails: Caffe's place and words; or None."""
    phase = PHASES.index(state.phase)
    if rule.HasField("phase") and rule.phase != phase:
        text = f"The NetState phase ({phase}) differed from the phase ({rule.phase})"
        return "net.cpp:296", text
    level = f"The NetState level ({state.level}) is above the"
    if rule.HasField("min_level") and state.level < rule.min_level:
        return "net.cpp:306", f"{level} min_level ({rule.min_level})"
    if rule.HasField("max_level") and state.level > rule.max_level:
        return "net.cpp:316", f"{level} max_level ({rule.max_level})"
    for stage in rule.stage:
        if stage not in state.stages:
            return "net.cpp:332", f"The NetState did not contain stage '{stage}'"
    for stage in rule.not_stage:
        if stage in state.stages:
            return "net.cpp:347", f"The NetState contained a not_stage '{stage}'"
    return None


def _parameters(net: Message, state: Message, held: NetState) -> Line:
    shown = type(net)()
    shown.CopyFrom(net)
    shown.state.CopyFrom(state)
    del shown.layer[:]
    shown.layer.extend(layer for layer in net.layer if included(layer, held))
    text = "Initializing net from parameters: \n" + write_text(shown)
    return Line("I", "net.cpp:53", text)


# -- one layer -----------------------------------------------------------------


def _connection(graph: Graph, node: Node) -> Iterator[Line]:
    name = node.name
    yield Line("I", "layer_factory.hpp:77", f"Creating layer {name}")
    yield Line("I", "net.cpp:86", f"Creating Layer {name}")
    for value in node.bottoms:
        blob = graph.values[value].blob
        yield Line("I", "net.cpp:408", f"{name} <- {blob}")
    bottoms = [graph.values[value].blob for value in node.bottoms]
    named = len(node.layer.spec.top)
    for i, value in enumerate(node.tops):
        blob = graph.values[value].blob if i < named else "(automatic)"
        if bottoms[i : i + 1] == [blob]:
            yield Line("I", "net.cpp:369", f"{name} -> {blob} (in-place)")
        else:
            yield Line("I", "net.cpp:382", f"{name} -> {blob}")


def _tops(graph: Graph, node: Node) -> Iterator[Line]:
    for value, weight in zip(node.tops, node.loss_weights, strict=True):
        shape = shape_text(graph.values[value].shape)
        yield Line("I", "net.cpp:131", f"Top shape: {shape}")
        if weight:
            yield Line("I", "net.cpp:134", f"    with loss weight {weight:g}")


def shape_text(shape: Shape) -> str:
    """A shape as Caffe shows it.

    >>> shape_text((64, 10)), shape_text(())
    ('64 10 (640)', '(1)')
    """
    return "".join(f"{extent} " for extent in shape) + f"({count(shape)})"


def _shared_params(graph: Graph, node: Node) -> Iterator[Line]:
    for key in node.params:
        owner, _, index = key.rpartition("/")
        if owner != node.name:
            name = graph.params[key].name
            text = (
                f"Sharing parameters '{name}' owned by layer '{owner}', param index "
                f"{index}"
            )
            yield Line("I", "net.cpp:484", text)


def _backward(node: Node) -> Line:
    if node.needs_backward:
        return Line("I", "net.cpp:200", f"{node.name} needs backward computation.")
    text = f"{node.name} does not need backward computation."
    return Line("I", "net.cpp:202", text)


# -- what layers say themselves ------------------------------------------------


def inner_lines(node: Node) -> list[Line]:
    """What a layer logs between its connection and its set-up."""
    tell = _SPEAKERS.get(node.type)
    return [] if tell is None else list(tell(node.layer))


def _creates_another(layer: Any) -> Iterator[Line]:
    yield Line("I", "layer_factory.hpp:77", f"Creating layer {layer.spec.name}")


def _scale(layer: Any) -> Iterator[Line]:
    if layer.spec.scale_param.bias_term:
        yield from _creates_another(layer)


def _data(layer: Any) -> Iterator[Line]:
    param = layer.spec.data_param
    kind = ("leveldb", "lmdb")[param.backend]
    where = ("db_leveldb.cpp:18", "db_lmdb.cpp:35")[param.backend]
    yield from _mean_file(layer)
    yield Line("I", where, f"Opened {kind} {param.source}")
    yield _output_size("data_layer.cpp:45", layer)


def _images(layer: Any) -> Iterator[Line]:
    param = layer.spec.image_data_param
    yield from _mean_file(layer)
    yield Line("I", "image_data_layer.cpp:38", f"Opening file {param.source}")
    if param.shuffle:
        yield Line("I", "image_data_layer.cpp:53", "Shuffling data")
    text = f"A total of {layer.length} images."
    yield Line("I", "image_data_layer.cpp:63", text)
    yield _output_size("image_data_layer.cpp:90", layer)


def _hdf5(layer: Any) -> Iterator[Line]:
    source = layer.spec.hdf5_data_param.source
    text = f"Loading list of HDF5 filenames from: {source}"
    yield Line("I", "hdf5_data_layer.cpp:81", text)
    text = f"Number of HDF5 files: {len(read_file_list(source))}"
    yield Line("I", "hdf5_data_layer.cpp:95", text)
    yield Line("I", FIRST_ONLY, "Datatype class: H5T_FLOAT")


def _mean_file(layer: Any) -> Iterator[Line]:
    path = layer.spec.transform_param.mean_file
    if path:
        text = f"Loading mean file from: {path}"
        yield Line("I", "data_transformer.cpp:25", text)


def _output_size(where: str, layer: Any) -> Line:
    shapes: Sequence[Shape] = layer.infer_shapes(())
    return Line("I", where, "output data size: " + ",".join(map(str, shapes[0])))


_SPEAKERS: Mapping[str, Any] = {
    "Data": _data,
    "HDF5Data": _hdf5,
    "ImageData": _images,
    "InfogainLoss": _creates_another,
    "Scale": _scale,
    "SoftmaxWithLoss": _creates_another,
}
