from math import prod

import numpy as np
import pytest

from geeps_caffe.engines.reference.windows import Windows, fold, images, pad, view

CASES = {
    "1-d": Windows((3,), (2,), (1,), (1,), (5,), (3,)),
    "clipped": Windows((3, 2), (2, 3), (1, 0), (1, 1), (4, 5), (3, 2)),
    "dilated": Windows((2, 2), (1, 1), (0, 0), (2, 3), (4, 5), (2, 2)),
    "gaps": Windows((1, 1), (3, 3), (0, 0), (1, 1), (6, 6), (2, 2)),
    "3-d": Windows((2, 1, 2), (1, 1, 2), (1, 0, 0), (1, 1, 1), (2, 2, 4), (3, 2, 2)),
    "no axes": Windows((), (), (), (), (), ()),
}


@pytest.fixture(params=CASES.values(), ids=CASES)
def windows(request):
    return request.param


def plain(windows, x):
    """Every window element, looked up one by one; 0 outside of the image."""
    found = np.zeros((*x.shape[:2], *windows.kernel, *windows.out))
    axes = len(windows.kernel)
    for index in np.ndindex(*windows.kernel, *windows.out):
        place = [
            out * s - p + k * d
            for k, out, s, p, d in zip(
                index[:axes],
                index[axes:],
                windows.stride,
                windows.pad,
                windows.dilation,
                strict=True,
            )
        ]
        if all(0 <= at < n for at, n in zip(place, windows.image, strict=True)):
            found[(..., *index)] = x[(..., *place)]
    return found


def test_a_view_has_every_element_of_every_window(windows, rng):
    x = rng.normal(size=(2, 3, *windows.image))
    found = view(np, windows, pad(np, windows, x))
    np.testing.assert_array_equal(found, plain(windows, x))


def test_fold_is_the_transpose_of_the_view(windows, rng):
    x = rng.normal(size=(2, 3, *windows.image))
    columns = rng.normal(size=(2, 3, *windows.kernel, *windows.out))
    total = (plain(windows, x) * columns).sum()
    assert (fold(np, windows, columns) * x).sum() == pytest.approx(total)


def test_there_is_a_position_for_each_place_in_the_kernel(windows):
    assert len([*windows.positions()]) == prod(windows.kernel)


def test_an_image_without_padding_is_not_copied(rng):
    x = rng.normal(size=(1, 1, 4, 5))
    assert pad(np, CASES["dilated"], x) is x


def test_batch_axes_become_one():
    assert images(np.zeros((2, 3, 4, 5, 6)), 2).shape == (6, 4, 5, 6)
