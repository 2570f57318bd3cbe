"""Every recording of the real Caffe whose layers are here, replayed."""

from pathlib import Path

import numpy as np
import pytest

from tests.layers.checks import check_golden, golden_with_files

FOLDER = Path(__file__).parents[1] / "golden" / "layers"

#: Sums that single precision takes in another order than Caffe (see its README).
WIDER = {
    "LSTM": {"rtol": 1e-3, "atol": 1e-4},
    "RNN": {"rtol": 1e-3, "atol": 1e-4},
    "LRN": {"rtol": 1e-3, "atol": 1e-4},
    "BatchNorm": {"rtol": 1e-3, "atol": 1e-4},
}


def _text(path):
    with np.load(path) as golden:
        return str(golden["prototxt"])


CASES = sorted(FOLDER.glob("*.npz"))


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_layer_computes_what_caffe_computed(path, request):
    tolerance = WIDER.get(path.stem.partition("__")[0], {})
    if "files/" in _text(path) or path.stem.startswith("Python"):
        corpus = request.getfixturevalue("corpus")
        tmp_path = request.getfixturevalue("tmp_path")
        golden_with_files(path, corpus, tmp_path, **tolerance)
    else:
        check_golden(path, **tolerance)
