import io

import pytest

from prototxt.errors import PrototxtError
from prototxt.single import read_blob, write_blob


def test_a_mean_file_is_written_as_caffe_writes_it(corpus):
    paths = sorted((corpus / "golden" / "data").glob("*.binaryproto"))
    assert len(paths) == 5
    for path in paths:
        out = io.BytesIO()
        write_blob(out, read_blob(path))
        assert out.getvalue() == path.read_bytes()


def test_a_real_mean_file_has_the_shape_of_its_images(corpus):
    mean = read_blob(corpus / "caffemodels/_aux/imagenet_mean.binaryproto")
    assert mean.shape == (1, 3, 256, 256)
    assert 90 < mean.mean() < 130


def test_weights_given_as_a_mean_are_refused(golden):
    with pytest.raises(PrototxtError, match="file of weights where an array"):
        read_blob(golden / "upgrade/v1_weights.caffemodel")
