import numpy as np
import pytest

from geeps_caffe.device.philox import Stream, philox


def hexadecimal(text):
    return [int(word, 16) for word in text.split()]


#: Published with the algorithm (Random123, kat_vectors): counter, key, block.
KNOWN = [
    ("0 0 0 0", "0 0", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    (
        "ffffffff ffffffff ffffffff ffffffff",
        "ffffffff ffffffff",
        "408f276d 41c83b0e a20bc7c6 6d5451fd",
    ),
    (
        "243f6a88 85a308d3 13198a2e 03707344",
        "a4093822 299f31d0",
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]


@pytest.mark.parametrize(("counter", "key", "block"), KNOWN)
def test_known_answers(counter, key, block):
    words = tuple(np.array([word]) for word in hexadecimal(counter))
    found = philox(words, tuple(hexadecimal(key)))
    assert found.dtype == np.uint32
    assert found.tolist() == [hexadecimal(block)]


@pytest.mark.parametrize(
    "shape", [(), (3,), (0, 4), (3, 0), (2, 5, 7), (3, 40_003), (9000, 5), (1, 65_536)]
)
def test_each_value_has_a_place_in_a_block_of_its_record(shape):
    seed, layer, iteration, records = 2**40 + 77, 3, 12, np.arange(5, 12)
    bits = Stream(seed, layer, iteration, records).bits(shape)
    assert bits.shape == shape
    batch = shape[0] if shape else 1
    flat = bits.reshape(batch, bits.size // batch) if batch else bits.reshape(0, 0)
    some = (
        np.random.default_rng(1).integers(0, flat.shape, (50, 2)) if flat.size else ()
    )
    for record, place in some:
        counter = (place // 4, records[record % len(records)], iteration, layer)
        block = philox(tuple(map(np.array, counter)), (seed, seed >> 32))
        assert flat[record, place] == block[place % 4]
