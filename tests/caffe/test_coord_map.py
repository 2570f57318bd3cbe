"""Places of tops in each other, beside what the real pycaffe found."""

import json
from pathlib import Path

import numpy as np
import pytest

from geeps_caffe import caffe
from geeps_caffe.caffe import layers as L
from geeps_caffe.caffe import params as P
from geeps_caffe.caffe.coord_map import (
    AxisMismatchException,
    compose,
    coord_map_from_to,
    crop,
)

RECORDED = json.loads(
    (Path(__file__).parents[1] / "golden" / "pycaffe" / "coord_map.json").read_text()
)


def net(conv=(3, 1, 0, 1), pool=(2, 2, 0), deconv=(4, 2, 0)):
    n = caffe.NetSpec()
    n.data = L.Input(shape={"dim": [2, 1, 100, 100]})
    kernel, stride, pad, dilation = conv
    n.conv = L.Convolution(
        n.data,
        num_output=10,
        kernel_size=kernel,
        stride=stride,
        pad=pad,
        dilation=dilation,
    )
    kernel, stride, pad = pool
    n.pool = L.Pooling(
        n.conv, pool=P.Pooling.MAX, kernel_size=kernel, stride=stride, pad=pad
    )
    kernel, stride, pad = deconv
    n.deconv = L.Deconvolution(
        n.pool, num_output=10, kernel_size=kernel, stride=stride, pad=pad
    )
    return n


@pytest.mark.parametrize("case", RECORDED, ids=str)
def test_maps_and_crops_are_those_of_pycaffe(case):
    n = net(case["conv"], case["pool"], case["deconv"])
    axis, scale, shift = coord_map_from_to(n.deconv, n.data)
    assert axis == case["axis"]
    np.testing.assert_allclose(scale, case["a"])
    np.testing.assert_allclose(shift, case["b"])
    if isinstance(case["crop_offset"], str):
        with pytest.raises(AssertionError) as error:
            crop(n.deconv, n.data)
        assert f"AssertionError: {error.value}" == case["crop_offset"]
        return
    layer = crop(n.deconv, n.data).to_proto().layer[-1]
    assert layer.crop_param.axis == 2
    assert list(layer.crop_param.offset) == case["crop_offset"]


def test_activations_and_1x1_convolutions_change_no_place():
    n = net()
    n.relu = L.ReLU(n.deconv)
    n.last = L.Convolution(n.relu, num_output=10, kernel_size=1)
    axis, scale, shift = coord_map_from_to(n.last, n.data)
    assert (axis, scale.item(), shift.item()) == (1, 1, 0)


def test_a_crop_moves_places_by_its_offset():
    n = net()
    n.crop = L.Crop(n.deconv, n.data, axis=2, offset=7)
    axis, scale, shift = coord_map_from_to(n.crop, n.data)
    assert (axis, scale.item(), shift.item()) == (1, 1, 7)


def test_axes_may_differ():
    convs = ((3, 1, 0, 1), (5, 2, 10, 1), ([3, 5], [1, 2], [0, 10], 1))
    one, other, both = (
        coord_map_from_to(n.deconv, n.data) for n in (net(conv) for conv in convs)
    )
    for part in (1, 2):  # scale, shift
        np.testing.assert_allclose(both[part], [*one[part], *other[part]])


def test_what_leads_nowhere_is_refused():
    n = net()
    n.ip = L.InnerProduct(n.deconv, num_output=10)
    with pytest.raises(RuntimeError, match="no common origin"):
        coord_map_from_to(n.ip, n.data)


def test_strides_and_offsets_that_do_not_fit_are_refused():
    n = net(pool=(3, 3, 0))
    with pytest.raises(AssertionError, match="scale mismatch"):
        crop(n.deconv, n.data)
    n = net(deconv=(4, 2, 10))
    with pytest.raises(AssertionError, match="negative"):
        crop(n.deconv, n.data)


def test_legacy_windows_are_refused():
    n = net()
    n.tall = L.Convolution(n.data, num_output=1, kernel_h=3, kernel_w=1, kernel_size=3)
    with pytest.raises(AssertionError, match="kernel_h, kernel_w"):
        coord_map_from_to(n.tall, n.data)


def test_maps_of_different_axes_are_not_chained():
    with pytest.raises(AxisMismatchException, match="axis 1 and from axis 2"):
        compose((1, 1, 0), (2, 1, 0))
