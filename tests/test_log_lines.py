"""Lines as Caffe writes them, and the expressions with which scripts read them."""

import re

import pytest

from geeps_caffe.execution import reports
from geeps_caffe.execution.reports import Displayed, Finished, Output, Snapshotting
from geeps_caffe.glog import prefix
from geeps_caffe.log_lines import (
    batch_lines,
    lines_of,
    mean_lines,
    number,
    solver_lines,
)
from prototxt import SolverParameter

LOSS = Output(1, "loss", 2.302581, 1.0)
ACCURACY = Output(0, "accuracy", 0.0986)
SHOWN = Displayed(
    iteration=100,
    loss=0.215,
    outputs=(Output(0, "loss", 0.215, 1.0),),
    rate=0.00992565,
    seconds=8.1,
    iterations=100,
    display=100,
)


def texts(report, most=16):
    return [line.text for line in lines_of(report, most)]


def whole(report):
    """The lines with their prefixes, as they stand in a log."""
    return [prefix(line, 1512007201.0, 4242) + line.text for line in lines_of(report)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1234567.0, "1.23457e+06"),
        (float("nan"), "nan"),
        (-float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_are_written_as_by_streams_of_cpp(value, text):
    assert number(value) == text


REPORTS = [
    (reports.Solving("LeNet", "inv"), ["Solving LeNet", "Learning Rate Policy: inv"]),
    (reports.Testing(0, 1), ["Iteration 0, Testing net (#1)"]),
    (
        reports.Testing(3, 0, ("aux", "fc")),
        [
            "Iteration 3, Testing net (#0)",
            "Ignoring source layer aux",
            "Ignoring source layer fc",
        ],
    ),
    (
        reports.Tested((ACCURACY, LOSS)),
        [
            "    Test net output #0: accuracy = 0.0986",
            "    Test net output #1: loss = 2.30258 (* 1 = 2.30258 loss)",
        ],
    ),
    (reports.Tested((), loss=0.03), ["Test loss: 0.03"]),
    (reports.Tested((), interrupted=True), ["Test interrupted."]),
    (
        SHOWN,
        [
            "Iteration 100 (12.3457 iter/s, 8.1s/100 iters), loss = 0.215",
            "    Train net output #0: loss = 0.215 (* 1 = 0.215 loss)",
            "Iteration 100, lr = 0.00992565",
        ],
    ),
    (reports.StepReached(5000, 1), ["MultiStep Status: Iteration 5000, step = 1"]),
    (
        reports.Clipped(6.0, 4.0),
        [
            "Gradient clipping: scaling down gradients (L2 norm 6 > 4) by scale factor "
            "0.666667"
        ],
    ),
    (
        Snapshotting("P_iter_5.caffemodel", "weights"),
        ["Snapshotting to binary proto file P_iter_5.caffemodel"],
    ),
    (
        Snapshotting("P_iter_5.solverstate", "state"),
        ["Snapshotting solver state to binary proto file P_iter_5.solverstate"],
    ),
    (
        Snapshotting("P.caffemodel.h5", "weights", hdf5=True),
        ["Snapshotting to HDF5 file P.caffemodel.h5"],
    ),
    (
        Snapshotting("P.solverstate.h5", "state", hdf5=True),
        ["Snapshotting solver state to HDF5 file P.solverstate.h5"],
    ),
    (
        reports.Restoring("s.solverstate"),
        ["Resuming from s.solverstate", "SGDSolver: restoring history"],
    ),
    (
        reports.Finetuning("w.caffemodel", ("fc8",)),
        ["Finetuning from w.caffemodel", "Ignoring source layer fc8"],
    ),
    (
        reports.BlobMean("Forward", "conv1", "top", "conv1", "data", 0.1),
        ["    [Forward] Layer conv1, top blob conv1 data: 0.1"],
    ),
    (
        reports.BlobMean("Backward", "conv1", "param", "0", "diff", 2e-05),
        ["    [Backward] Layer conv1, param blob 0 diff: 2e-05"],
    ),
    (
        reports.ParamNorms(1.0, 2.0, 3.0, 4.0),
        [
            "    [Backward] All net params (data, diff): L1 norm = (1, 2); L2 norm = "
            "(3, 4)"
        ],
    ),
    (Finished(10000, 0.0034), ["Iteration 10000, loss = 0.0034"]),
    (Finished(10000), ["Optimization Done."]),
    (Finished(7, early=True), ["Optimization stopped early."]),
    (reports.Notice("hello"), ["hello"]),
]


@pytest.mark.parametrize(("report", "expected"), REPORTS)
def test_each_report_has_the_words_of_caffe(report, expected):
    assert texts(report) == expected


def test_a_step_of_multistep_stands_before_the_rate():
    report = Displayed(5, 1.0, (), 0.1, 1.0, 1, 1, step=2)
    assert texts(report)[1:] == [
        "MultiStep Status: Iteration 5, step = 2",
        "Iteration 5, lr = 0.1",
    ]


def test_a_clock_that_stood_still_divides_by_one():
    report = Displayed(2, 1.0, (), 0.1, 0.0, 2, 2)
    assert texts(report)[0] == "Iteration 2 (2 iter/s, 0s/2 iters), loss = 1"


def test_a_failed_snapshot_is_a_warning_and_no_error():
    (line,) = lines_of(reports.SnapshotFailed("p", "the disk is full"))
    assert line.severity == "W"
    assert "the disk is full" in line.text


def test_a_notice_is_never_an_error():
    assert lines_of(reports.Notice("old format", "E"))[0].severity == "W"
    assert lines_of(reports.Notice("old format", "W"))[0].severity == "W"


def flood():
    loose = tuple(Output(i, "data", 0.5) for i in range(64))
    return (*loose, Output(64, "loss", 1.0, 1.0))


def test_a_flood_of_loose_numbers_is_cut_and_the_loss_stays():
    lines = texts(reports.Tested(flood()))
    assert len(lines) == 18
    assert lines[15] == "    Test net output #15: data = 0.5"
    assert lines[16] == "    Test net output #64: loss = 1 (* 1 = 1 loss)"
    assert lines[17] == (
        "    and 48 more of 'data'; add a Silence layer or --all-outputs"
    )


def test_all_numbers_are_shown_on_request():
    assert len(texts(reports.Tested(flood()), most=None)) == 65


def test_the_lines_of_test():
    outputs = [ACCURACY, LOSS]
    assert [line.text for line in batch_lines(7, outputs, 16)] == [
        "Batch 7, accuracy = 0.0986",
        "Batch 7, loss = 2.30258",
    ]
    assert [line.text for line in mean_lines(outputs, 16)] == [
        "accuracy = 0.0986",
        "loss = 2.30258 (* 1 = 2.30258 loss)",
    ]


def test_what_batches_leave_out_is_said_once():
    assert "48 more" in batch_lines(0, flood(), 16)[-1].text
    assert "more" not in batch_lines(1, flood(), 16)[-1].text


def test_the_solver_is_shown_in_the_form_of_debug_strings():
    (line,) = solver_lines(SolverParameter(base_lr=0.01, net="net.prototxt"))
    assert line.text == (
        'Initializing solver from parameters: \nbase_lr: 0.01\nnet: "net.prototxt"\n'
    )


# -- how scripts read the lines --------------------------------------------------

ITERATION = re.compile(r"Iteration (\d+)")
OUTPUT = re.compile(r"(Train|Test) net output #(\d+): (\S+) = ([\.\deE+-]+)")
RATE = re.compile(r"lr = ([-+]?[0-9]*\.?[0-9]+([eE]?[-+]?[0-9]+)?)")
DIGITS = re.compile(r"^(\w)(\d{4} \S{8}).*]\s+(\S.*)$")


def test_the_expressions_of_parse_log_find_all_values():
    first, output, last = whole(SHOWN)
    assert ITERATION.search(first)[1] == "100"
    assert OUTPUT.search(output).groups() == ("Train", "0", "loss", "0.215")
    assert RATE.search(last)[1] == "0.00992565"


def test_small_rates_are_found_whole():
    line = whole(Displayed(1, 1.0, (), 1e-05, 1.0, 1, 1))[-1]
    assert RATE.search(line)[1] == "1e-05"


def test_the_fields_that_awk_takes():
    first, output, last = whole(SHOWN)
    assert last.split()[8] == "0.00992565"  # $9
    test = whole(reports.Tested((ACCURACY,)))[0]
    assert test.split()[10] == "0.0986"  # $11
    assert first.split("=")[1].strip() == "0.215"
    assert output.split()[10] == "0.215"


def test_the_shell_script_counts_the_closing_line():
    line = whole(Finished(200, 0.5))[0]
    assert ", loss = " in line
    assert re.search(r"Iteration (\d+), loss = ", line)[1] == "200"


def test_the_expressions_of_digits_take_the_messages_apart():
    for report in (SHOWN, reports.Tested((ACCURACY, LOSS)), reports.Testing(0, 0)):
        for line in whole(report):
            severity, moment, message = DIGITS.match(line).groups()
            assert severity == "I"
            assert len(moment) == 13
            assert not message.startswith(" ")
    message = DIGITS.match(whole(SHOWN)[-1])[3]
    assert re.match(r"Iteration (\d+).*lr = ", message)[1] == "100"
    weights = Snapshotting("a/P_iter_500.caffemodel", "weights")
    state = Snapshotting("a/P_iter_500.solverstate", "state")
    assert re.match(r"Snapshotting to (.*)", DIGITS.match(whole(weights)[0])[3])
    assert DIGITS.match(whole(state)[0])[3].startswith("Snapshotting solver state")


def test_a_number_that_is_none_is_written_nan():
    line = whole(reports.Tested((Output(0, "loss", -float("nan"), 1.0),)))[0]
    assert "= nan" in line
    assert "-nan" not in line
