import io

import numpy as np
import pytest

from prototxt.encode import (
    Values,
    blob_parts,
    join_parts,
    message_parts,
    number_field,
    size_of,
    varint,
)
from prototxt.schema import BlobProto, LayerParameter, SolverState


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**31 - 1, -1])
def test_numbers_are_written_as_protobuf_does(value):
    assert number_field(1, value) == SolverState(iter=value).SerializeToString()


def test_a_number_has_seven_bits_a_byte():
    assert varint(300) == b"\xac\x02"


def test_an_array_is_written_as_protobuf_does():
    blob = BlobProto(data=[1, 2], diff=[3, 4])
    blob.shape.dim.extend([1, 2])
    parts = blob_parts(np.float32([[1, 2]]), np.float32([[3, 4]]))
    assert join_parts(parts) == blob.SerializeToString(deterministic=True)
    assert size_of(parts) == len(join_parts(parts))


def test_a_double_array_stays_double():
    blob = BlobProto.FromString(join_parts(blob_parts(np.array([0.1]))))
    assert list(blob.double_data) == [0.1]
    assert not blob.data


def test_a_single_number_has_a_shape_without_sizes():
    blob = BlobProto.FromString(join_parts(blob_parts(np.float32(3).reshape(()))))
    assert blob.HasField("shape")
    assert list(blob.shape.dim) == []


def test_values_that_do_not_lie_together_are_written_in_order():
    out = io.BytesIO()
    Values(np.arange(6, dtype=np.float64).reshape(2, 3).T, "<f4").write(out)
    assert np.frombuffer(out.getvalue(), "<f4").tolist() == [0, 3, 1, 4, 2, 5]


def test_entries_come_where_their_number_belongs():
    layer = LayerParameter(name="n", top=["t"], phase=0)
    layer.param.add(lr_mult=2)
    parts = message_parts(layer, 7, [[BlobProto(data=[1]).SerializeToString()]])
    layer.blobs.add(data=[1])
    assert join_parts(parts) == layer.SerializeToString(deterministic=True)
