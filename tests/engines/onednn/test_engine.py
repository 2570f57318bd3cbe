import gc
from dataclasses import replace

import numpy as np
import pytest

from geeps_caffe.device.array import allocate
from geeps_caffe.engines.engine import Layout, Request, plain_layout
from geeps_caffe.engines.onednn.library import OneDnnError
from geeps_caffe.engines.operations import Convolution, InnerProduct, MaxPooling

ONE = Convolution((3, 3), (1, 1), (1, 1), (1, 1), 1, True)
SHAPES = {
    "bottom0": (2, 32, 6, 6),
    "param0": (64, 32, 3, 3),
    "param1": (64,),
    "top0": (2, 64, 6, 6),
}


def layout(engine, name, shape):
    return Layout(name, engine.kit.layouts.own(Layout(name, 0), shape).nbytes)


@pytest.mark.parametrize(
    ("shape", "names"),
    [
        ((2, 20, 3, 5), ("aBcd16b", "acdb", "aBcd8b")),
        ((64, 16, 3, 3), ("ABcd16b16a", "2x32x16x3x3:aBCde16c16b", "ABcd16a16b")),
        ((70, 100), ("BA16a64b", "ba")),
    ],
)
def test_reorders_lose_nothing_between_any_two_layouts(engine, rng, shape, names):
    start = rng.random(shape, np.float32)
    held, lies = start, plain_layout(shape)
    for name in (*names, *reversed(names), "plain"):
        following = layout(engine, name, shape)
        block = allocate(following.nbytes)
        if following.plain:
            block = block.view(np.float32).reshape(shape)
        engine.bind_reorder(shape, (held, lies), (block, following), np.float32)()
        held, lies = block, following
    np.testing.assert_array_equal(held, start)


def test_float64_has_plain_layouts_only(engine):
    shape, blocked = (2, 16, 3, 3), layout(engine, "aBcd16b", (2, 16, 3, 3))
    source = (np.zeros(shape), plain_layout(shape, np.float64))
    target = np.ones(shape)
    engine.bind_reorder(shape, source, (target, source[1]), np.float64)()
    assert not target.any()
    with pytest.raises(OneDnnError, match="float32, not"):
        engine.bind_reorder(shape, source, (target, blocked), np.float64)


def test_weights_of_fully_connected_layers_are_blocked_except_with_avx2(engine):
    shapes = {"bottom0": (16, 4096), "param0": (4096, 4096), "top0": (16, 4096)}
    request = Request(InnerProduct(1, False, False), "forward", shapes)
    layouts = engine.describe(request).layouts
    assert layouts["param0"].plain == engine.version.isa.startswith("AVX2")
    assert layouts["bottom0"].plain and layouts["top0"].plain


def test_images_stay_plain_in_the_first_convolution(engine):
    shapes = {
        "bottom0": (2, 3, 9, 9),
        "param0": (32, 3, 3, 3),
        "param1": (32,),
        "top0": (2, 32, 9, 9),
    }
    forward = engine.describe(Request(ONE, "forward", shapes))
    assert forward.layouts["bottom0"].plain
    diffs = {"param0.diff": shapes["param0"], "param1.diff": (32,)}
    diffs["top0.diff"] = shapes["top0"]
    backward = engine.describe(
        Request(ONE, "backward", shapes | diffs, forward.layouts)
    )
    assert backward.layouts["bottom0"].plain
    assert backward.layouts["top0.diff"] == forward.layouts["top0"]


def test_backward_names_only_what_it_reads(engine):
    forward = engine.describe(Request(ONE, "forward", SHAPES))
    given = forward.layouts
    top = {"top0.diff": SHAPES["top0"]}
    data = Request(
        ONE, "backward", SHAPES | top | {"bottom0.diff": (2, 32, 6, 6)}, given
    )
    assert set(engine.describe(data).layouts) == {"top0.diff", "bottom0.diff", "param0"}
    bias = Request(ONE, "backward", SHAPES | top | {"param1.diff": (64,)}, given)
    assert set(engine.describe(bias).layouts) == {"top0.diff", "bottom0", "param1.diff"}


def test_gradients_of_weights_lie_as_the_table_does(engine):
    given = {"param0": plain_layout(SHAPES["param0"])}
    shapes = SHAPES | {"top0.diff": SHAPES["top0"], "param0.diff": SHAPES["param0"]}
    description = engine.describe(Request(ONE, "backward", shapes, given))
    assert description.layouts["param0.diff"].plain


def test_a_table_in_a_layout_of_other_axes_is_left_to_the_reference(engine):
    name = "2x32x32x3x3:aBCde16c16b"
    given = {"param0": layout(engine, name, SHAPES["param0"])}
    shapes = SHAPES | {"top0.diff": SHAPES["top0"], "param0.diff": SHAPES["param0"]}
    assert engine.describe(Request(ONE, "backward", shapes, given)) is None


def test_what_is_bound_keeps_all_that_it_needs(engine, rng):
    """oneDNN holds raw pointers; after the names are gone the call still runs."""
    shape = (2, 5, 4, 4)
    request = Request(
        MaxPooling((2, 2), (2, 2), (0, 0)),
        "forward",
        {"bottom0": shape, "top0": (2, 5, 2, 2)},
        training=False,
    )
    description = engine.describe(request)
    image, top = rng.random(shape, np.float32), np.zeros((2, 5, 2, 2), np.float32)
    scratch = allocate(description.scratch)
    call = engine.bind(request, description, {"bottom0": image, "top0": top}, scratch)
    right = image.reshape(2, 5, 2, 2, 2, 2).max(axis=(3, 5))
    del image, request, description, scratch
    gc.collect()
    call()
    np.testing.assert_array_equal(top, right)


def test_a_plain_bottom_is_pooled_in_blocks_where_its_channels_fill_them(engine):
    def layouts(channels):
        shapes = {"bottom0": (2, channels, 4, 4), "top0": (2, channels, 2, 2)}
        operation = MaxPooling((2, 2), (2, 2), (0, 0))
        return engine.describe(Request(operation, "forward", shapes)).layouts

    assert {layouts(16)[p].name for p in ("bottom0", "top0")} <= {"aBcd16b", "aBcd8b"}
    assert {layouts(5)[p].name for p in ("bottom0", "top0")} == {"plain"}


def test_describing_needs_no_arrays_and_repeats(engine):
    request = Request(ONE, "forward", SHAPES)
    assert engine.describe(request) == engine.describe(replace(request))
    assert "avx" in engine.describe(request).implementation
