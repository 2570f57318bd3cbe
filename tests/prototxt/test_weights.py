import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prototxt.encode import length_field, varint
from prototxt.errors import PrototxtError
from prototxt.schema import NetParameter
from prototxt.text import read_net
from prototxt.weights import read_weights, write_weights
from tests.conftest import GOLDEN


def arrays(weights):
    return [[blob.array() for blob in layer.blobs] for layer in weights.layers]


SNAPSHOTS = sorted((GOLDEN / "solvers").glob("*/snap_iter_10.caffemodel"))


def test_a_snapshot_of_caffe_is_read_with_names_types_and_values(golden):
    weights = read_weights(golden / "solvers/SGD__mom09/snap_iter_10.caffemodel")
    result = np.load(golden / "solvers/SGD__mom09/result.npz")
    assert weights.name == "golden_plain"
    assert [layer.type for layer in weights.layers][:2] == ["HDF5Data", "Convolution"]
    for index, blob in enumerate(weights.layer("conv").blobs):
        expected = result[f"weights/10/conv/{index}"]
        np.testing.assert_array_equal(blob.array(), expected)


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: path.parent.name)
def test_a_snapshot_is_written_as_caffe_writes_it_byte_for_byte(path):
    weights = read_weights(path)
    out = io.BytesIO()
    size = write_weights(out, weights.net(), arrays(weights))
    assert out.getvalue() == path.read_bytes()
    assert size == len(out.getvalue())


def test_a_layer_that_is_not_there_gets_the_nearest_name(golden):
    weights = read_weights(golden / "solvers/SGD__mom09/snap_iter_10.caffemodel")
    with pytest.raises(PrototxtError, match="did you mean 'conv'"):
        weights.layer("convv")


def test_blobs_in_the_net_that_is_written_are_not_looked_at():
    net = NetParameter(name="n")
    layer = net.layer.add(name="c", type="Convolution", bottom=["x"], phase=1)
    layer.blobs.add(data=[9, 9])
    layer.convolution_param.kernel_size.append(3)
    out = io.BytesIO()
    write_weights(out, net, [[np.float32([1])]])
    written = NetParameter.FromString(out.getvalue())
    assert list(written.layer[0].blobs[0].data) == [1]
    del layer.blobs[:]
    del written.layer[0].blobs[:]
    assert written == net


def test_gradients_are_written_if_given(tmp_path):
    net = NetParameter()
    net.layer.add(name="c")
    path = tmp_path / "w.caffemodel"
    write_weights(path, net, [[np.float32([1])]], [[np.float32([2])]])
    (blob,) = read_weights(path).layer("c").blobs
    assert blob.diff() == [2]


def test_real_weights_are_read_as_protobuf_reads_them(corpus):
    paths = sorted((corpus / "caffemodels").rglob("*.caffemodel"))
    assert len(paths) >= 10
    for path in paths:
        expected = NetParameter.FromString(path.read_bytes())
        weights = read_weights(path)
        names = [(layer.name, layer.type) for layer in weights.layers]
        assert names == [(layer.name, layer.type) for layer in expected.layer]
        for layer, stored in zip(weights.layers, expected.layer, strict=True):
            for blob, proto in zip(layer.blobs, stored.blobs, strict=True):
                np.testing.assert_array_equal(
                    blob.array().ravel(), np.array(proto.data)
                )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("solvers/SGD__mom09/snap_iter_10.solverstate", "this is a solverstate"),
        ("upgrade/v1_inputs.prototxt", "the arguments look swapped"),
    ],
)
def test_files_of_another_kind_are_refused(golden, name, expected):
    with pytest.raises(PrototxtError, match=expected):
        read_weights(golden / name)


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "w").touch()
    with pytest.raises(PrototxtError, match="is empty"):
        read_weights(tmp_path / "w")


def test_a_file_that_is_cut_off_is_refused_with_the_offset(golden, tmp_path):
    content = (golden / "solvers/SGD__mom09/snap_iter_10.caffemodel").read_bytes()
    path = tmp_path / "w.caffemodel"
    path.write_bytes(content[:-40])
    with pytest.raises(PrototxtError, match="cut off or damaged") as caught:
        read_weights(path)
    assert caught.value.offset > 100


@pytest.mark.parametrize(
    ("dims", "reason"),
    [
        ([1] * 33, "33 axes; there are 32 at most"),
        ([1 << 31, 1 << 31, 0], "larger than any memory"),
        ([1 << 62], "but 1 are stored"),
        ([2, -1], "a negative size"),
        ([1 << 20, 1 << 20], "has 1099511627776 values, but 1 are stored"),
    ],
)
def test_a_shape_that_no_array_has_is_refused(tmp_path, dims, reason):
    net = NetParameter()
    blob = net.layer.add(name="c").blobs.add(data=[1])
    blob.shape.dim.extend(dims)
    (tmp_path / "w.caffemodel").write_bytes(net.SerializeToString())
    with pytest.raises(PrototxtError, match=reason):
        read_weights(tmp_path / "w.caffemodel").layer("c").blobs[0].array()


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_damaged_files_are_read_or_refused_but_never_break(data, tmp_path_factory):
    name = data.draw(st.sampled_from(["v0", "v1", "v1_weights.upgraded"]))
    name = name if "." in name else f"{name}_weights"
    content = bytearray((GOLDEN / f"upgrade/{name}.caffemodel").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(
            st.integers(0, 255)
        )
    path = tmp_path_factory.mktemp("damaged") / "w.caffemodel"
    path.write_bytes(bytes(content[: data.draw(st.integers(1, len(content)))]))
    try:
        weights = read_weights(path)
        arrays(weights)
        weights.net()
    except PrototxtError:
        pass


def test_a_file_of_more_than_two_gigabytes_is_read(tmp_path):
    """The big array is a hole in the file, so neither disk nor time is used."""
    count = 550_000_000
    shape = length_field(7, length_field(1, [varint(count)]))
    values_head = varint(5 << 3 | 2) + varint(4 * count)
    blob_size = len(values_head) + 4 * count + sum(map(len, shape))
    layer_head = b"\x0a\x03big" + varint(7 << 3 | 2) + varint(blob_size)
    size = len(layer_head) + blob_size
    path = tmp_path / "big.caffemodel"
    with path.open("wb") as file:
        file.write(varint(100 << 3 | 2) + varint(size) + layer_head + values_head)
        file.seek(4 * count, io.SEEK_CUR)
        file.write(b"".join(shape))
        net = NetParameter()
        net.layer.add(name="small")
        write_weights(file, net, [[np.float32([7])]])
    weights = read_weights(path)
    assert path.stat().st_size > 2**31
    assert weights.layer("big").blobs[0].shape == (count,)
    assert weights.layer("small").blobs[0].array() == [7]


def test_the_weights_of_a_net_read_from_text_can_be_written(golden, tmp_path):
    net = read_net(golden / "solvers/net_plain.prototxt").message
    path = tmp_path / "w.caffemodel"
    weights = [np.zeros((3, 1, 3, 3), np.float32)]
    blobs = [weights if layer.name == "conv" else [] for layer in net.layer]
    write_weights(path, net, blobs)
    written = NetParameter.FromString(path.read_bytes())
    assert [layer.name for layer in written.layer] == [la.name for la in net.layer]


def test_layers_of_one_name_have_blobs_of_their_own(tmp_path):
    net = NetParameter()
    net.layer.add(name="c")
    net.layer.add(name="c")
    path = tmp_path / "w.caffemodel"
    write_weights(path, net, [[np.float32([1])], [np.float32([2, 3])]])
    first, second = read_weights(path).layers
    assert first.blobs[0].array() == [1]
    np.testing.assert_array_equal(second.blobs[0].array(), [2, 3])
