"""test: score a model, as `caffe test`."""

from collections.abc import Sequence

from geeps_caffe.commands.caffe_flags import read_line, require
from geeps_caffe.commands.given_files import check_weights
from geeps_caffe.commands.gpus import choose_device
from geeps_caffe.commands.line_settings import run_settings, stages_of
from geeps_caffe.commands.planning import read_model, unbound_net
from geeps_caffe.commands.session import Session, open_session
from geeps_caffe.config.file_list import files_in
from geeps_caffe.config.flags import CommandLine
from geeps_caffe.errors import UsageError
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.reports import Output
from geeps_caffe.execution.tester import check_alike, forward_outputs
from geeps_caffe.execution.weights import copy_weights, fill_params, left_out
from geeps_caffe.graph.remarks import log_remarks
from geeps_caffe.log_lines import (
    batch_lines,
    ignoring,
    mean_lines,
    number,
    upgrade_lines,
)
from geeps_caffe.net_lines import net_lines


def main(argv: list[str]) -> int:
    """Score the model on its test data."""
    line = read_line(argv, "test")
    require(line, "model", "Need a model definition to score.")
    weights = files_in(require(line, "weights", "Need model weights to score."))
    if line.integer("iterations") < 1:
        raise UsageError(
            f"-iterations is {line.integer('iterations')}; give 1 up, as scores are "
            "means over the batches"
        )
    for name in weights:
        check_weights(name)
    with open_session(line) as session:
        gpus = choose_device(session, line, "caffe.cpp:275")
        return _score(session, line, weights, gpus)


def _score(
    session: Session, line: CommandLine, weights: list[str], gpus: Sequence[int]
) -> int:
    settings = run_settings(line, gpus=gpus)
    state, named = read_model(
        line.text("model"),
        "TEST",
        line.integer("level"),
        stages_of(line),
        settings.made_up,
    )
    session.tell(upgrade_lines(named.notes))
    for warning in named.warnings:
        session.warn(warning)
    with unbound_net(named, settings) as net:
        session.tell(net_lines(named.source.message, state, net.graph))
        log_remarks(net.graph)
        fill_params(net, net.seed)
        for name in weights:
            session.tell(ignoring(copy_weights(net, name)))
        for text in left_out(net, weights):
            session.warn(text)
        _run(session, net, line.integer("iterations"))
    return 0


def _run(session: Session, net: PlannedNet, iterations: int) -> None:
    session.say("caffe.cpp:281", f"Running for {iterations} iterations.")
    sums: list[float] = []
    first: list[Output] = []
    total = 0.0
    for batch in range(iterations):
        outputs, loss = forward_outputs(net, batch)
        total += loss
        first = first or outputs
        check_alike(first, outputs)
        values = [output.value for output in outputs]
        sums = [a + b for a, b in zip(sums, values, strict=True)] if sums else values
        session.tell(batch_lines(batch, outputs, session.most_outputs))
    session.say("caffe.cpp:309", f"Loss: {number(total / iterations)}")
    means = [
        Output(o.index, o.name, value / iterations, o.weight)
        for o, value in zip(first, sums, strict=True)
    ]
    session.tell(mean_lines(means, session.most_outputs))
