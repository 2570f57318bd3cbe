import numpy as np
import pytest

from prototxt.encode import join_parts, length_field
from prototxt.errors import PrototxtError
from prototxt.weights import read_weights


@pytest.mark.parametrize("version", ["v0", "v1"])
def test_weights_of_old_formats_are_those_that_caffe_loads(golden, version):
    weights = read_weights(golden / f"upgrade/{version}_weights.caffemodel")
    loaded = np.load(golden / f"upgrade/{version}_weights_loaded.npz")
    compared = 0
    for name, blobs in blobs_by_name(weights).items():
        for index, array in enumerate(blobs):
            expected = next(
                loaded[key] for key in loaded if key.endswith(f"{name}/{index}")
            )
            np.testing.assert_array_equal(array.reshape(expected.shape), expected)
            compared += 1
    assert compared == 4
    assert weights.layer("conv1").type == "Convolution"


def test_the_settings_of_a_layer_are_read_without_its_blobs(golden):
    weights = read_weights(golden / "solvers/SGD__mom09/snap_iter_10.caffemodel")
    layer = weights.layer("conv").message()
    assert layer.convolution_param.num_output == 3
    assert not layer.blobs


def blobs_by_name(weights):
    return {la.name: [blob.array() for blob in la.blobs] for la in weights.layers}


def test_settings_that_are_damaged_are_refused_when_asked_for(tmp_path):
    path = tmp_path / "w.caffemodel"
    broken = b"\x0a\x01c" + join_parts(length_field(106, [b"\x0a\xff"]))
    path.write_bytes(join_parts(length_field(100, [broken])))
    layer = read_weights(path).layer("c")
    with pytest.raises(PrototxtError, match="layer 'c' at byte 3: its settings"):
        layer.message()
