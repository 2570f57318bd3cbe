"""Every data source against what the real Caffe read from the same files."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import prototxt
from geeps_caffe.device.philox import Stream
from geeps_caffe.layers.base import Blob, Run, Setting
from geeps_caffe.layers.data import Data
from geeps_caffe.layers.hdf5_data import HDF5Data
from geeps_caffe.layers.image_data import ImageData
from geeps_caffe.layers.window_data import WindowData

LAYERS = {c.type_name: c for c in (Data, ImageData, HDF5Data, WindowData)}
CORPUS = Path(os.environ.get("GEEPS_CAFFE_CORPUS", "/nowhere")) / "golden/data"
CASES = sorted(p.stem for p in CORPUS.glob("*__*.npz")) or ["none"]


@pytest.fixture
def recorded(corpus, tmp_path, monkeypatch):
    """The folder of recordings: a copy, which is the working directory."""
    folder = tmp_path / "data"
    shutil.copytree(corpus / "golden/data", folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def source():
    """Makes source layers, and closes them."""
    made = []

    def make(text, phase="TEST", **setting):
        spec = prototxt.parse_net(text, "net.prototxt").message.layer[0]
        made.append(LAYERS[spec.type](spec, Setting(phase=phase, **setting)))
        return made[-1]

    yield make
    for layer in made:
        layer.close()


def forward(layer):
    shapes = layer.pending_shapes() or layer.infer_shapes([])
    top = [Blob(np.full(s, np.nan, np.float32)) for s in shapes]
    layer.forward(Run(np, (), (), Stream(1, 0, 0, np.arange(1))), [], top)
    return [blob.data for blob in top]


@pytest.mark.parametrize("case", [c for c in CASES if "seeded" not in c])
def test_batches_equal_those_of_caffe(case, recorded, source):
    z = np.load(recorded / f"{case}.npz")
    layer = source(str(z["prototxt"]), str(z["phase"]))
    tops = list(layer.spec.top)
    layer.infer_shapes([])
    batches = sum(1 for k in z.files if k.endswith("/" + tops[0]))
    for b in range(batches):
        for name, values in zip(tops, forward(layer), strict=True):
            expected = z[f"batch{b}/{name}"]
            assert values.shape == expected.shape
            np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-4)
