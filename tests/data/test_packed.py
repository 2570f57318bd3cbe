"""Packed pictures, transformed by their numbers: what the host's transform gives."""

import numpy as np
import pytest

from geeps_caffe.data.packed import PackedFeed, is_packed, parts
from geeps_caffe.data.pictures import arrange, write
from geeps_caffe.data.sampler import Batch
from geeps_caffe.data.transform import Transform
from geeps_caffe.engines.reference.functions import ArrayFunctions

MEAN = np.random.default_rng(4).uniform(0, 255, (3, 9, 8)).astype(np.float32)
TRANSFORMS = {
    "plain": Transform(),
    "scale": Transform(scale=0.0039),
    "one mean": Transform(mean_values=(7.5,), scale=2),
    "mean of each channel": Transform(mean_values=(104.1, 0.0, 3.3), mirror=True),
    "mean image": Transform(mean=MEAN, mirror=True, scale=0.1),
    "crop": Transform(crop=(5, 6), mirror=True, random_crop=True, scale=0.3),
    "crop in the middle": Transform(crop=(4, 3), mean=MEAN),
    "all": Transform(0.7, True, (5, 5), True, MEAN),
}


class Decoded:
    """A Feed of pictures that are decoded already."""

    def __init__(self, images, transform):
        self.images, self.transform, self.closed = images, transform, False

    def fetch(self, batch):
        return [self.images[i] for i in batch.records]

    def decode(self, batch, fetched):
        labels = [10 + i for i in batch.records]
        return arrange(fetched, labels, self.transform, 2, None, str)

    def write(self, batch, decoded, tops):
        write(self.transform, batch, decoded, tops)

    def name(self, number):
        return f"picture {number}"

    def close(self):
        self.closed = True


def batch_of(images):
    numbers = np.arange(len(images), dtype=np.int64)
    return Batch(5 + numbers, numbers)


def made(feed, images):
    """The arrays of a batch of all images."""
    batch = batch_of(images)
    decoded = feed.decode(batch, feed.fetch(batch))
    tops = [np.full(shape, np.nan, np.float32) for shape in decoded.shapes]
    feed.write(batch, decoded, tops)
    return tops


def unpacked(transform, block, shape):
    """What a device makes of a block."""
    numbers, labels, pixels = parts(block.view(np.uint8), shape[0])
    mean, steps = transform.means()
    out = np.full(shape, np.nan, np.float32)
    args = (pixels, numbers, mean, steps, transform.scale, out)
    ArrayFunctions().transform(*args)
    return out, labels


@pytest.fixture(params=["raw", "decoded", "grey", "sliced"])
def images(request, rng):
    """Eight of (C, 9, 8), as they lie in a database or come from a decoder."""
    shape = (9, 8, 3) if request.param != "grey" else (9, 8, 1)
    found = [rng.integers(0, 256, shape, np.uint8).transpose(2, 0, 1) for _ in range(8)]
    if request.param == "raw":
        return [np.ascontiguousarray(image) for image in found]
    if request.param == "sliced":
        return [np.repeat(image, 2, axis=2)[:, :, ::2] for image in found]
    return found


@pytest.mark.parametrize("name", TRANSFORMS)
def test_bits_are_those_of_the_host(name, images):
    transform = TRANSFORMS[name]
    if images[0].shape[0] == 1 and name not in ("plain", "scale", "one mean", "crop"):
        transform = Transform(0.7, True, (5, 5), True, MEAN[:1])
    feed = Decoded(images, transform)
    wanted = made(feed, images)
    packed = made(PackedFeed(feed, transform), images)
    assert is_packed(packed) and not is_packed(wanted)
    found = unpacked(transform, packed[0], wanted[0].shape)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_pictures_may_have_sizes_of_their_own_before_the_crop(rng):
    sizes = [(9, 8), (5, 5), (12, 7)]
    images = [rng.integers(0, 256, (3, *size), np.uint8) for size in sizes]
    transform = Transform(crop=(5, 5), mirror=True, random_crop=True)
    feed = Decoded(images, transform)
    wanted = made(feed, images)
    (block,) = made(PackedFeed(feed, transform), images)
    found = unpacked(transform, block, wanted[0].shape)
    np.testing.assert_array_equal(found[0], wanted[0])


def test_pictures_of_floats_are_written_as_ever(rng):
    images = [rng.standard_normal((1, 4, 4)).astype(np.float32) for _ in range(3)]
    feed = Decoded(images, Transform())
    tops = made(PackedFeed(feed, Transform()), images)
    assert not is_packed(tops)
    np.testing.assert_array_equal(tops[0], images)


def test_a_block_holds_a_byte_for_each_pixel(images):
    transform = Transform(crop=(5, 6))
    (block,) = made(PackedFeed(Decoded(images, transform), transform), images)
    pixels = 8 * images[0].shape[0] * 5 * 6
    assert block.nbytes - pixels < 8 * 52 + 4


def test_the_rest_is_the_feeds_own():
    feed = Decoded([], Transform())
    packed = PackedFeed(feed, Transform())
    assert packed.name(3) == "picture 3"
    packed.close()
    assert feed.closed
