import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from prototxt import BlobProto
from tests.layers.checks import check_backward_reads, check_gradient, run_layer

THREE = """layer {{ name: "l" type: "InfogainLoss" bottom: "a" bottom: "b" bottom: "c"
            top: "d" {} }}"""
TWO = """layer {{ name: "l" type: "InfogainLoss" bottom: "a" bottom: "b" top: "d"
          {} }}"""
SCORES = np.log([[1.0, 2, 5], [4, 4, 2]])
MATRIX = np.array([[1, 0.5, 0], [0, 2, 0], [0.25, 0, 1]])


@pytest.fixture
def source(tmp_path):
    blob = BlobProto(height=3, width=3, num=1, channels=1, data=MATRIX.ravel())
    path = tmp_path / "matrix.binaryproto"
    path.write_bytes(blob.SerializeToString())
    return f'infogain_loss_param {{ source: "{path}" }}'


def _expected():
    rows = [np.log(1 / 8) + 0.5 * np.log(2 / 8), 0.25 * np.log(0.4) + np.log(0.2)]
    return -sum(rows) / 2


def test_the_label_s_row_weights_the_logarithms():
    (y,) = run_layer(THREE.format(""), SCORES, [0.0, 2.0], MATRIX)
    np.testing.assert_allclose(y, _expected())


def test_the_matrix_may_be_a_file(source):
    (y,) = run_layer(TWO.format(source), SCORES, [0.0, 2.0])
    np.testing.assert_allclose(y, _expected())


def test_with_the_identity_it_is_the_softmax_loss():
    (y,) = run_layer(THREE.format(""), SCORES, [2.0, 0.0], np.eye(3))
    np.testing.assert_allclose(y, -(np.log(5 / 8) + np.log(4 / 10)) / 2)


def test_a_second_top_holds_the_probabilities():
    text = THREE.format('top: "p" loss_weight: 1 loss_weight: 0')
    _, probabilities = run_layer(text, SCORES, [0.0, 0.0], MATRIX)
    np.testing.assert_allclose(probabilities, [[0.125, 0.25, 0.625], [0.4, 0.4, 0.2]])


@pytest.mark.parametrize(
    "param", ["", "loss_param { ignore_label: 1 normalization: BATCH_SIZE }"]
)
def test_gradient_is_that_of_differences(param, rng):
    labels = rng.integers(0, 3, size=(2, 2, 2)) * 1.0
    inputs = {"a": rng.normal(size=(2, 3, 2, 2)), "b": labels, "c": MATRIX}
    check_gradient(THREE.format(param), inputs)


def test_the_classes_may_lie_along_another_axis(rng):
    inputs = {"a": rng.normal(size=(2, 2, 3)), "b": np.ones((2, 2)), "c": MATRIX}
    check_gradient(THREE.format("infogain_loss_param { axis: -1 }"), inputs)


def test_backward_reads_what_it_declares(source):
    labels = np.array([0.0, 1.0])
    check_backward_reads(THREE.format(""), {"a": SCORES, "b": labels, "c": MATRIX})
    check_backward_reads(TWO.format(source), {"a": SCORES, "b": labels})


def test_a_matrix_of_another_size_is_refused():
    with pytest.raises(LayerError, match="has 4 entries; for 3 classes it needs 9"):
        run_layer(THREE.format(""), SCORES, [0.0, 2.0], np.eye(2))


def test_without_a_matrix_it_is_refused():
    with pytest.raises(LayerError, match="give infogain_loss_param source or bottom"):
        run_layer(TWO.format(""), SCORES, [0.0, 2.0])


def test_a_file_that_is_not_there_or_no_matrix_is_named(tmp_path):
    path = tmp_path / "none"
    param = f'infogain_loss_param {{ source: "{path}" }}'
    with pytest.raises(LayerError, match=f"infogain matrix '{path}'"):
        run_layer(TWO.format(param), SCORES, [0.0, 2.0])
    path.write_bytes(b"\xff\xff\xff")
    with pytest.raises(LayerError, match=f"infogain matrix '{path}'"):
        run_layer(TWO.format(param), SCORES, [0.0, 2.0])
