import pytest

import prototxt
from geeps_caffe.errors import LayerError
from geeps_caffe.layers import LAYERS


def layer_of(kind, field, text, bottom):
    """A layer after setup, from the text of its parameters."""
    net = prototxt.parse_net(
        f'layer {{ name: "l" type: "{kind}" bottom: "a" top: "b" '
        f"{field} {{ {text} }} }}"
    )
    layer = LAYERS[kind](net.message.layer[0])
    layer.setup([bottom])
    return layer


def convolution(text, bottom=(1, 1, 10, 12), kind="Convolution"):
    text = f"num_output: 1 {text}"
    return layer_of(kind, "convolution_param", text, bottom)


def pooling(text, bottom=(1, 1, 10, 12)):
    return layer_of("Pooling", "pooling_param", text, bottom)


def out(layer, bottom):
    return layer.infer_shapes([bottom])[0][2:]


@pytest.mark.parametrize(
    ("side", "text", "ceil", "floor"),
    [
        (112, "kernel_size: 3 stride: 2", 56, 55),
        (10, "kernel_size: 3 stride: 2", 5, 4),
        (129, "kernel_size: 2 stride: 2", 65, 64),
        (112, "kernel_size: 3 stride: 2 pad: 1", 57, 56),
        (7, "kernel_size: 7 stride: 7", 1, 1),
        (2, "kernel_size: 3 stride: 2", 1, None),
    ],
)
def test_pooling_rounds_up_or_as_it_is_told(side, text, ceil, floor):
    bottom = (1, 1, side, side)
    assert out(pooling(text, bottom), bottom) == (ceil, ceil)
    if floor is not None:
        rounded = pooling(f"{text} round_mode: FLOOR", bottom)
        assert out(rounded, bottom) == (floor, floor)


def test_a_window_that_begins_behind_the_image_is_left_out():
    bottom = (1, 1, 4, 4)
    assert out(pooling("kernel_size: 2 stride: 2 pad: 1", bottom), bottom) == (3, 3)
    bottom = (1, 1, 5, 5)
    assert out(pooling("kernel_size: 2 stride: 3 pad: 1", bottom), bottom) == (2, 2)


def test_convolution_rounds_down():
    bottom = (1, 1, 10, 10)
    layer = convolution("kernel_size: 3 stride: 2", bottom)
    assert out(layer, bottom) == (4, 4)


def test_a_kernel_may_stand_over_by_less_than_its_stride():
    bottom = (1, 1, 4, 10)
    layer = convolution("kernel_h: 5 kernel_w: 3 stride: 2", bottom)
    assert out(layer, bottom) == (1, 4)


def test_deconvolution_undoes_the_size_of_a_convolution():
    bottom = (1, 1, 4, 5)
    text = "kernel_size: 4 stride: 2 pad: 1"
    assert out(convolution(text, bottom, "Deconvolution"), bottom) == (8, 10)


@pytest.mark.parametrize(
    ("text", "kernel", "stride", "pad", "dilation"),
    [
        ("kernel_size: 3", (3, 3), (1, 1), (0, 0), (1, 1)),
        ("kernel_size: 3 kernel_size: 2", (3, 2), (1, 1), (0, 0), (1, 1)),
        (
            "kernel_h: 3 kernel_w: 2 stride_h: 1 stride_w: 3",
            (3, 2),
            (1, 3),
            (0, 0),
            (1, 1),
        ),
        ("kernel_size: 3 pad_w: 2", (3, 3), (1, 1), (0, 2), (1, 1)),
        (
            "kernel_size: 3 stride: 2 stride: 3 pad: 1 dilation: 2",
            (3, 3),
            (2, 3),
            (1, 1),
            (2, 2),
        ),
        ("kernel_size: 1 force_nd_im2col: true", (1, 1), (1, 1), (0, 0), (1, 1)),
    ],
)
def test_convolution_reads_all_forms_of_its_window(text, kernel, stride, pad, dilation):
    window = convolution(text).geometry
    assert (window.kernel, window.stride) == (kernel, stride)
    assert (window.pad, window.dilation) == (pad, dilation)


@pytest.mark.parametrize(
    ("text", "kernel", "stride", "pad"),
    [
        ("kernel_size: 3 stride: 2 pad: 1", (3, 3), (2, 2), (1, 1)),
        (
            "kernel_h: 3 kernel_w: 2 stride_h: 1 stride_w: 4 pad_h: 2 pad_w: 0",
            (3, 2),
            (1, 4),
            (2, 0),
        ),
        ("global_pooling: true", (10, 12), (1, 1), (0, 0)),
    ],
)
def test_pooling_reads_all_forms_of_its_window(text, kernel, stride, pad):
    window = pooling(text).geometry
    assert (window.kernel, window.stride, window.pad) == (kernel, stride, pad)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "kernel_size has 0 numbers and the bottom 2 spatial axes"),
        ("kernel_size: 1 kernel_size: 2 kernel_size: 3", "kernel_size has 3 numbers"),
        ("kernel_size: 3 kernel_h: 3", "kernel_size and kernel_h, kernel_w are both"),
        ("kernel_h: 3", r"kernel is \(3, 0\); each number must be at least 1"),
        ("kernel_size: 3 stride: 0", r"stride is \(0, 0\)"),
        ("kernel_size: 3 stride_h: 2", r"stride is \(2, 0\).*give stride_w too"),
        ("kernel_size: 3 dilation: 0", r"dilation is \(0, 0\)"),
    ],
)
def test_a_wrong_window_of_a_convolution_is_explained(text, message):
    with pytest.raises(LayerError, match=message):
        convolution(text)


def test_height_and_width_need_two_spatial_axes():
    with pytest.raises(LayerError, match="for 2 spatial axes, the bottom has 3"):
        convolution("kernel_h: 3 kernel_w: 3", (1, 1, 4, 4, 4))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "kernel_size is missing"),
        ("kernel_size: 3 kernel_h: 2", "kernel_size and kernel_h are both given"),
        ("kernel_w: 3", "kernel_w is given alone; give both kernel_h and kernel_w"),
        ("kernel_size: 0", r"kernel is \(0, 0\)"),
        ("kernel_size: 2 stride: 0", r"stride is \(0, 0\)"),
        ("kernel_size: 2 pad: 1 pad_h: 1", "pad and pad_h are both given"),
        ("kernel_size: 2 pad: 2", r"pad \(2, 2\) is not smaller than the kernel"),
        ("global_pooling: true kernel_size: 2", "leave out kernel_size, stride"),
        ("global_pooling: true stride: 2", "leave out kernel_size, stride"),
    ],
)
def test_a_wrong_window_of_a_pooling_is_explained(text, message):
    with pytest.raises(LayerError, match=message):
        pooling(text)


def test_a_kernel_larger_than_the_padded_bottom_is_explained():
    bottom = (1, 1, 4, 4)
    layer = convolution("kernel_size: 3 dilation: 3", bottom)
    with pytest.raises(
        LayerError,
        match=r"covers 7 pixels of spatial.* 4.*pad by 2.*kernel 3x3, stride 1x1",
    ):
        layer.infer_shapes([bottom])
    layer = pooling("kernel_size: 5", bottom)
    with pytest.raises(LayerError, match=r"covers 5 pixels .* has 4, with padding 4"):
        layer.infer_shapes([bottom])


def test_a_deconvolution_without_pixels_is_explained():
    bottom = (1, 1, 1, 1)
    layer = convolution("kernel_size: 2 pad: 1", bottom, "Deconvolution")
    with pytest.raises(LayerError, match=r"spatial shape \(0, 0\); reduce pad"):
        layer.infer_shapes([bottom])
