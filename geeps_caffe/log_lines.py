"""What Caffe logs while it solves, tests and times, word for word.

Pure functions from what a run reports to lines. Scripts in the field read them, so
blanks, commas and the form of numbers matter; places are those of Caffe 1.0.
"""

from collections.abc import Iterable, Sequence

from geeps_caffe.execution.reports import (
    BlobMean,
    Clipped,
    Displayed,
    Finetuning,
    Finished,
    Notice,
    Output,
    ParamNorms,
    Report,
    Restoring,
    SnapshotFailed,
    Snapshotting,
    Solving,
    StepReached,
    Tested,
    Testing,
)
from geeps_caffe.glog import Line, note
from prototxt import Message, write_text
from prototxt.upgrade.notes import Note

MOST_OUTPUTS = 16  # numbers of one blob that are shown


def number(value: float) -> str:
    """A number as C++ streams write it: six digits.

    >>> number(0.00001), number(2.302585), number(float("-nan"))
    ('1e-05', '2.30259', 'nan')
    """
    return f"{value:g}"


def solver_lines(solver: Message) -> list[Line]:
    """The solver's fields, before anything is built."""
    text = "Initializing solver from parameters: \n" + write_text(solver)
    return [Line("I", "solver.cpp:45", text)]


def upgrade_lines(notes: Iterable[Note]) -> list[Line]:
    """What an upgrade of an old file has to say."""
    return [Line(note.severity, "upgrade_proto.cpp:1", note.text) for note in notes]


def lines_of(report: Report, most: int | None = MOST_OUTPUTS) -> list[Line]:
    """The lines for one report of a Trainer.

    Args:
        report: what happened.
        most: numbers of one output blob that are shown; None: all.
    """
    match report:
        case Solving():
            return [
                Line("I", "solver.cpp:289", f"Solving {report.net}"),
                Line("I", "solver.cpp:290", f"Learning Rate Policy: {report.policy}"),
            ]
        case Testing():
            text = f"Iteration {report.iteration}, Testing net (#{report.net})"
            sharing = _ignoring(report.ignored, "net.cpp:678")
            return [Line("I", "solver.cpp:347", text), *sharing]
        case Tested():
            return _tested(report, most)
        case Displayed():
            return _displayed(report, most)
        case StepReached():
            return [_step(report.iteration, report.step)]
        case Clipped():
            return [_clipped(report)]
        case BlobMean():
            return [_blob_mean(report)]
        case ParamNorms():
            return [_param_norms(report)]
        case Snapshotting():
            return [_snapshotting(report)]
        case SnapshotFailed():
            text = f"Snapshot failed, training goes on: {report.reason}"
            return [note(text, "W")]
        case Restoring():
            return _restoring(report)
        case Finetuning():
            return finetuning_lines(report.path, report.ignored)
        case Notice():
            return [_notice(report)]
        case Finished():
            return [_finished(report)]


def finetuning_lines(path: str, ignored: Sequence[str]) -> list[Line]:
    """Weights of a file went into a solver's net; `ignored` are layers it lacks."""
    return [Line("I", "solver.cpp:72", f"Finetuning from {path}"), *ignoring(ignored)]


def ignoring(layers: Sequence[str]) -> list[Line]:
    """Layers of a weight file that the net lacks."""
    return _ignoring(layers, "net.cpp:746")


def _ignoring(layers: Sequence[str], place: str) -> list[Line]:
    return [Line("I", place, f"Ignoring source layer {name}") for name in layers]


# -- outputs -------------------------------------------------------------------


def limited(
    outputs: Sequence[Output], most: int | None
) -> tuple[list[Output], list[Line]]:
    """The first `most` numbers of each blob, and a line on what is left out."""
    shown: list[Output] = []
    counts: dict[str, int] = {}
    for output in outputs:
        counts[output.name] = counts.get(output.name, 0) + 1
        if most is None or counts[output.name] <= most:
            shown.append(output)
    if len(shown) == len(outputs):
        return shown, []
    assert most is not None
    names = ", ".join(repr(name) for name, count in counts.items() if count > most)
    text = (
        f"    and {len(outputs) - len(shown)} more of {names}; add a Silence layer or "
        "--all-outputs"
    )
    return shown, [note(text)]


def net_output_lines(
    outputs: Sequence[Output], where: str, head: str, most: int | None
) -> list[Line]:
    """A line for each number of a net's outputs, up to `most` of a blob."""
    shown, rest = limited(outputs, most)
    return [
        Line(
            "I",
            where,
            f"    {head} net output #{output.index}: {value_text(output)}"
            + loss_part(output),
        )
        for output in shown
    ] + rest


def batch_lines(batch: int, outputs: Sequence[Output], most: int | None) -> list[Line]:
    """`test`: the outputs of one batch; what is left out is said at the first."""
    shown, rest = limited(outputs, most)
    lines = [
        Line("I", "caffe.cpp:304", f"Batch {batch}, {value_text(output)}")
        for output in shown
    ]
    return lines + (rest if batch == 0 else [])


def mean_lines(outputs: Sequence[Output], most: int | None) -> list[Line]:
    """`test`: the means over all batches."""
    shown, rest = limited(outputs, most)
    return [
        Line("I", "caffe.cpp:321", value_text(output) + loss_part(output))
        for output in shown
    ] + rest


def value_text(output: Output) -> str:
    """An output's name and value."""
    return f"{output.name} = {number(output.value)}"


def loss_part(output: Output) -> str:
    """What follows an output that is a loss."""
    if not output.weight:
        return ""
    weight, product = number(output.weight), number(output.weight * output.value)
    return f" (* {weight} = {product} loss)"


def _tested(report: Tested, most: int | None) -> list[Line]:
    if report.interrupted:
        return [Line("I", "solver.cpp:396", "Test interrupted.")]
    lines = []
    if report.loss is not None:
        text = f"Test loss: {number(report.loss)}"
        lines.append(Line("I", "solver.cpp:401", text))
    return lines + net_output_lines(report.outputs, "solver.cpp:414", "Test", most)


def _displayed(report: Displayed, most: int | None) -> list[Line]:
    rate = report.iterations / (report.seconds or 1.0)
    text = (
        f"Iteration {report.iteration} ({number(rate)} iter/s, "
        f"{number(report.seconds)}s/{report.display} iters), "
        f"loss = {number(report.loss)}"
    )
    lines = [Line("I", "solver.cpp:239", text)]
    lines += net_output_lines(report.outputs, "solver.cpp:258", "Train", most)
    if report.step is not None:
        lines.append(_step(report.iteration, report.step))
    text = f"Iteration {report.iteration}, lr = {number(report.rate)}"
    return [*lines, Line("I", "sgd_solver.cpp:112", text)]


# -- single lines --------------------------------------------------------------


def _step(iteration: int, step: int) -> Line:
    text = f"MultiStep Status: Iteration {iteration}, step = {step}"
    return Line("I", "sgd_solver.cpp:46", text)


def _clipped(report: Clipped) -> Line:
    text = (
        f"Gradient clipping: scaling down gradients (L2 norm {number(report.norm)} > "
        f"{number(report.limit)}) by scale factor {number(report.limit / report.norm)}"
    )
    return Line("I", "sgd_solver.cpp:97", text)


_DEBUG_PLACES = {
    ("Forward", "top"): "net.cpp:593",
    ("Forward", "param"): "net.cpp:605",
    ("Backward", "bottom"): "net.cpp:621",
    ("Backward", "param"): "net.cpp:632",
}


def _blob_mean(report: BlobMean) -> Line:
    text = (
        f"    [{report.direction}] Layer {report.layer}, {report.role} blob "
        f"{report.blob} {report.what}: {number(report.value)}"
    )
    return Line("I", _DEBUG_PLACES[report.direction, report.role], text)


def _param_norms(report: ParamNorms) -> Line:
    """Caffe gives it the severity E, which watchers of logs take for a failure."""
    text = (
        "    [Backward] All net params (data, diff): L1 norm = "
        f"({number(report.l1_data)}, {number(report.l1_diff)}); L2 norm = "
        f"({number(report.l2_data)}, {number(report.l2_diff)})"
    )
    return Line("I", "net.cpp:566", text)


def _notice(report: Notice) -> Line:
    """Advice; never an E line, which some scripts take for the end of a run."""
    return note(report.text, "W" if report.level == "E" else report.level)


def _snapshotting(report: Snapshotting) -> Line:
    kind = "HDF5" if report.hdf5 else "binary proto"
    if report.kind == "weights":
        where = "solver.cpp:474" if report.hdf5 else "solver.cpp:464"
        return Line("I", where, f"Snapshotting to {kind} file {report.path}")
    where = "sgd_solver.cpp:293" if report.hdf5 else "sgd_solver.cpp:284"
    return Line("I", where, f"Snapshotting solver state to {kind} file {report.path}")


def _restoring(report: Restoring) -> list[Line]:
    lines = [Line("I", "caffe.cpp:235", f"Resuming from {report.path}")]
    if not report.path.endswith(".h5"):
        lines.append(Line("I", "sgd_solver.cpp:336", "SGDSolver: restoring history"))
    return lines


def _finished(report: Finished) -> Line:
    if report.early:
        return Line("I", "solver.cpp:311", "Optimization stopped early.")
    if report.loss is None:
        return Line("I", "solver.cpp:332", "Optimization Done.")
    text = f"Iteration {report.iteration}, loss = {number(report.loss)}"
    return Line("I", "solver.cpp:327", text)
