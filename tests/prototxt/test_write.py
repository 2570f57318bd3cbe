import numpy as np
import pytest

from prototxt.schema import BlobProto, Datum, NetParameter, SolverParameter
from prototxt.text import read_solver
from prototxt.write import escape, show_float, write_text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.0, "1"),
        (0.1, "0.1"),
        (0.0001, "0.0001"),
        (1e-05, "1e-05"),
        (1e8, "1e+08"),
        (123456.0, "123456"),
        (1234567.0, "1234567"),
        (0.9990000128746033, "0.999"),
        (1 / 3, "0.333333343"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
        (-0.0, "-0"),
    ],
)
def test_floats_are_shown_as_in_c(value, shown):
    assert show_float(value) == shown


def test_what_is_shown_gives_the_float_back(rng):
    for bits in rng.integers(0, 2**32, 2000, dtype=np.uint32):
        value = bits.view(np.float32)
        if np.isfinite(value):
            assert np.float32(show_float(float(value))) == value


def test_quotes_control_characters_and_bytes_are_escaped():
    assert escape("a\"b'c\\\n\t") == "a\\\"b\\'c\\\\\\n\\t"
    assert escape("é\x01") == "\\303\\251\\001"


def test_blocks_are_indented_and_fields_in_the_order_of_their_numbers():
    net = NetParameter(name="n", force_backward=True)
    net.layer.add(type="ReLU", name="r", top=["a", "b"]).relu_param.SetInParent()
    assert write_text(net) == (
        'name: "n"\nforce_backward: true\nlayer {\n  name: "r"\n  type: "ReLU"\n'
        '  top: "a"\n  top: "b"\n  relu_param {\n  }\n}\n'
    )


def test_enums_doubles_and_bytes_have_their_forms():
    assert write_text(SolverParameter(solver_mode=0)) == "solver_mode: CPU\n"
    assert write_text(BlobProto(double_data=[0.1])) == "double_data: 0.1\n"
    assert write_text(Datum(data=b"\x00z")) == 'data: "\\000z"\n'


def test_a_solver_is_written_as_caffe_logs_it(corpus):
    cli = corpus / "golden" / "cli"
    log = (cli / "train.stderr.txt").read_text().splitlines()
    start = next(i for i, line in enumerate(log) if "Initializing solver" in line) + 1
    expected = []
    for line in log[start:]:
        if line.startswith("I "):
            break
        expected.append(line)
    solver = read_solver(cli / "solver.prototxt").message
    solver.train_state.level = 0
    solver.train_state.stage.append("")
    solver.weights.append("init.caffemodel")
    assert write_text(solver).splitlines() == expected
