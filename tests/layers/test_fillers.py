import tracemalloc

import numpy as np
import pytest
from google.protobuf import text_format

from geeps_caffe.errors import LayerError
from geeps_caffe.layers.fillers import FILLERS, fill
from prototxt.schema import FillerParameter


def filled(shape, text, seed=1):
    array = np.full(shape, np.nan, np.float32)
    filler = text_format.Parse(text, FillerParameter())
    fill(array, filler, np.random.default_rng(seed))
    return array


def moments(values):
    centred = values.astype(np.float64) - values.mean(dtype=np.float64)
    variance = (centred**2).mean()
    return values.mean(), variance**0.5, (centred**4).mean() / variance**2


#: Recorded from Caffe: filler, shape, min, max, mean, std, kurtosis.
RECORDED = [
    ('"gaussian" mean: 0.5 std: 2', (100, 400), None, None, 0.503, 1.995, 3.043),
    ('"uniform" min: -1 max: 3', (100, 400), -1, 3, 1.0, 1.158, 1.792),
    ('"xavier"', (100, 400), -0.0866, 0.0866, 0, 0.0499, 1.807),
    ('"xavier" variance_norm: FAN_OUT', (100, 400), -0.1732, 0.1732, 0, 0.0996, 1.803),
    ('"xavier" variance_norm: AVERAGE', (100, 400), -0.1095, 0.1095, 0, 0.0634, 1.8),
    ('"msra"', (100, 400), None, None, 0, 0.0709, 3.039),
    ('"msra" variance_norm: FAN_OUT', (100, 400), None, None, 0, 0.1409, 3.024),
    ('"msra" variance_norm: AVERAGE', (100, 400), None, None, 0, 0.0894, 2.948),
    ('"positive_unitball"', (100, 400), 0, 0.0053, 0.0025, 0.00146, 1.808),
    ('"xavier"', (64, 32, 5, 5), -0.0612, 0.0612, 0, 0.03545, 1.794),
    (
        '"xavier" variance_norm: FAN_OUT',
        (64, 32, 5, 5),
        -0.0433,
        0.0433,
        0,
        0.025,
        1.804,
    ),
    ('"msra" variance_norm: AVERAGE', (64, 32, 5, 5), None, None, 0, 0.0408, 3.011),
]


@pytest.mark.parametrize("row", RECORDED, ids=[f"{r[0]} {r[1]}" for r in RECORDED])
def test_statistics_are_those_of_caffe(row):
    text, shape, low, high, *expected = row
    values = filled(shape, f"type: {text}")
    mean, std, kurtosis = moments(values)
    assert mean == pytest.approx(expected[0], abs=0.02 * expected[1])
    assert std == pytest.approx(expected[1], rel=0.03)
    assert kurtosis == pytest.approx(expected[2], rel=0.05)
    if low is not None:
        assert values.min() == pytest.approx(low, abs=0.01 * (high - low))
        assert values.max() == pytest.approx(high, rel=0.03)


def test_values_of_a_positive_unitball_sum_to_1_for_each_output():
    sums = filled((10, 3, 4), 'type: "positive_unitball"').reshape(10, -1).sum(axis=1)
    np.testing.assert_allclose(sums, 1, rtol=1e-6)


def test_sparse_is_the_mean_number_of_values_left_of_an_input():
    values = filled((100, 400), 'type: "gaussian" sparse: 10')
    assert (values != 0).sum() == pytest.approx(4000, rel=0.05)  # Caffe: 3902


def test_constant_fills_with_its_value():
    assert (filled((2, 3), "value: 0.5") == 0.5).all()


@pytest.mark.parametrize(
    ("side", "profile"),
    [
        (3, [0.5, 1, 0.5]),
        (4, [0.25, 0.75, 0.75, 0.25]),
        (6, [1 / 6, 0.5, 5 / 6, 5 / 6, 0.5, 1 / 6]),
    ],
)
def test_bilinear_is_the_product_of_two_tents_in_every_plane(side, profile):
    values = filled((2, 2, side, side), 'type: "bilinear"')
    for plane in values.reshape(-1, side, side):
        np.testing.assert_allclose(plane, np.outer(profile, profile), rtol=1e-6)


def test_bilinear_is_what_caffe_filled(corpus):
    with np.load(corpus / "golden" / "pycaffe" / "bilinear.npz") as recorded:
        for expected in (recorded[key] for key in recorded.files):
            found = filled(expected.shape, 'type: "bilinear"')
            np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", FILLERS)
def test_the_same_generator_gives_the_same_values(kind):
    shape, text = (3, 2, 4, 4), f'type: "{kind}"'
    np.testing.assert_array_equal(filled(shape, text), filled(shape, text))


def test_no_filler_fills_with_zeros():
    array = np.ones(3, np.float32)
    fill(array, None, np.random.default_rng(1))
    assert not array.any()


@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        ('type: "xaver"', (2, 2), "unknown filler 'xaver'; did you mean 'xavier'"),
        ('type: "xavier" sparse: 1', (2, 2), "'xavier' takes no sparse"),
        ('type: "gaussian" std: 0', (2, 2), "std 0 .* std must be above 0"),
        ('type: "gaussian" sparse: -2', (2, 2), "sparse -2"),
        ('type: "uniform" min: 2', (2, 2), "min 2 above max 1"),
        ('type: "bilinear"', (2, 2), "needs 4 axes and a square"),
        ('type: "bilinear"', (2, 2, 3, 4), r"the blob has \(2, 2, 3, 4\)"),
    ],
)
def test_a_filler_that_can_not_be_is_explained(text, shape, message):
    with pytest.raises(LayerError, match=message):
        filled(shape, text)


@pytest.mark.parametrize("kind", ["constant", "uniform", "gaussian", "xavier", "msra"])
def test_large_blobs_are_filled_where_they_lie(kind):
    array = np.empty((1000, 1000), np.float32)
    filler = text_format.Parse(f'type: "{kind}"', FillerParameter())
    tracemalloc.start()
    fill(array, filler, np.random.default_rng(1))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < array.nbytes / 10
