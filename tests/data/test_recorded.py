"""Every data source against what the real Caffe read from the same files."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.data.sources import forward, sources

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
    with sources() as make:
        yield make


@pytest.mark.parametrize("case", [c for c in CASES if "seeded" not in c])
def test_batches_equal_those_of_caffe(case, recorded, source):
    z = np.load(recorded / f"{case}.npz")
    layer = source(str(z["prototxt"]), str(z["phase"]))
    tops = list(layer.spec.top)
    batches = sum(1 for k in z.files if k.endswith("/" + tops[0]))
    for b in range(batches):
        for name, values in zip(tops, forward(layer), strict=True):
            expected = z[f"batch{b}/{name}"]
            assert values.shape == expected.shape
            np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-4)


def test_seeded_crops_and_mirrors_are_legal(recorded, source):
    z = np.load(recorded / "Data__seeded_train_crop_mirror.npz")
    layer = source(str(z["prototxt"]), "TRAIN")
    pixels = np.load("dump_lmdb_raw.npz")["data"]
    for b in range(2):
        values, labels = forward(layer)
        np.testing.assert_array_equal(labels, z[f"batch{b}/label"])
        for ours, caffes, image in zip(
            values, z[f"batch{b}/data"], pixels[10 * b :], strict=False
        ):
            legal = {
                crop.tobytes()
                for y in range(40 - 30 + 1)
                for x in range(48 - 30 + 1)
                for crop in (
                    image[:, y : y + 30, x : x + 30].astype(np.float32),
                    image[:, y : y + 30, x : x + 30][..., ::-1].astype(np.float32),
                )
            }
            assert {ours.tobytes(), caffes.tobytes()} <= legal


def rows(*batches):
    """The records of batches, in no order: each as its pixels and label."""
    return sorted(
        (data.tobytes(), float(label))
        for values, labels in batches
        for data, label in zip(values, labels, strict=True)
    )


def test_seeded_shuffle_gives_the_same_records_in_each_pass(recorded, source):
    z = np.load(recorded / "ImageData__seeded_shuffle.npz")
    layer = source(str(z["prototxt"]), "TEST")
    ours = [forward(layer) for _ in range(4)]
    caffes = [(z[f"batch{b}/data"], z[f"batch{b}/label"]) for b in range(4)]
    for first in (0, 2):  # two batches of ten are a pass over twenty images
        assert rows(*ours[first : first + 2]) == rows(*caffes[first : first + 2])
    assert rows(ours[0]) != rows(ours[2])


def test_seeded_windows_are_those_that_caffe_draws(recorded, source):
    z = np.load(recorded / "WindowData__seeded_many.npz")
    layer = source(str(z["prototxt"]), "TRAIN")
    ours = [forward(layer) for _ in range(60)]
    drawn = {row for batch in ours for row in rows(batch)}
    for b in range(2):
        labels = z[f"batch{b}/label"]
        assert set(rows((z[f"batch{b}/data"], labels))) <= drawn
        assert all((batch[1] > 0).tolist() == (labels > 0).tolist() for batch in ours)
