"""The lines of a solver's making, from what was made, in Caffe's order."""

from collections.abc import Sequence

import prototxt
from geeps_caffe.execution.nets import NamedNet
from geeps_caffe.execution.reports import Finetuning, Notice, Report
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.glog import Line
from geeps_caffe.graph.graph import Graph
from geeps_caffe.log_lines import finetuning_lines, lines_of
from geeps_caffe.net_lines import net_lines, state_message
from prototxt import Document, Message

#: The field that names the training net: Caffe's place and words.
_TRAINING = {
    "train_net_param": ("solver.cpp:88", "specified in train_net_param."),
    "train_net": ("solver.cpp:92", "from train_net file: {}"),
    "net_param": ("solver.cpp:97", "specified in net_param."),
    "net": ("solver.cpp:102", "from net file: {}"),
}


def scaffolding_lines(
    document: Document, trainer: Trainer, made: Sequence[Report]
) -> list[Line]:
    """The training net, its weights, then the same for each test net.

    Args:
        document: the solver.
        trainer: the trainer made from it.
        made: what the trainer reported meanwhile.
    """
    solver = document.message
    lines = [_training_line(solver)]
    lines += [n for r in made if isinstance(r, Notice) for n in lines_of(r)]
    message = trainer.training.named.source.message
    state = state_message("TRAIN", message.state, solver.train_state)
    lines += net_lines(message, state, trainer.net.graph)
    finetunings = [report for report in made if isinstance(report, Finetuning)]
    lines += [line for report in finetunings for line in lines_of(report)]
    for test, origin in zip(trainer.tests, _test_origins(solver), strict=True):
        text = f"Creating test net (#{test.index}) specified by {origin}"
        lines.append(Line("I", "solver.cpp:190", text))
        named = trainer.training.named_tests[test.index]
        lines += _test_lines(solver, test.index, named, test.net.graph)
        for report in finetunings:
            ignored = _absent_layers(report.path, test.net.graph)
            lines += finetuning_lines(report.path, ignored)
    lines.append(Line("I", "solver.cpp:57", "Solver scaffolding done."))
    return lines


def _training_line(solver: Message) -> Line:
    field = next(name for name in _TRAINING if solver.HasField(name))
    where, text = _TRAINING[field]
    return Line(
        "I", where, "Creating training net " + text.format(getattr(solver, field))
    )


def _test_origins(solver: Message) -> list[str]:
    """What each test net comes from, in Caffe's words."""
    origins = ["test_net_param"] * len(solver.test_net_param)
    origins += [f"test_net file: {path}" for path in solver.test_net]
    generic = "net_param" if solver.HasField("net_param") else f"net file: {solver.net}"
    return origins + [generic] * (len(solver.test_iter) - len(origins))


def _test_lines(
    solver: Message, index: int, named: NamedNet, graph: Graph
) -> list[Line]:
    message = named.source.message
    own = [solver.test_state[index]] if solver.test_state else []
    return net_lines(message, state_message("TEST", message.state, *own), graph)


def _absent_layers(path: str, graph: Graph) -> list[str]:
    """Layers of a weight file that the net has not."""
    present = {node.name for node in graph.nodes}
    layers = prototxt.read_weights(path).layers
    return [layer.name for layer in layers if layer.name not in present]
