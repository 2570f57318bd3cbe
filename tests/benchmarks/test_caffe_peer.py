"""A peer in an interpreter that has a module `caffe`: here ours under that name."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.caffe_peer import CaffePeer
from benchmarks.models import MODELS

ROOT = Path(__file__).parents[2]
NET = """
layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "x" } }
layer {
  name: "a/ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } }
}
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Makes a peer of LeNet's task, with the text above for LeNet."""
    file = tmp_path / "zoo" / MODELS["lenet"].path
    file.parent.mkdir(parents=True)
    file.write_text(NET)
    (tmp_path / "caffe.py").write_text("from geeps_caffe.caffe import *\n")
    monkeypatch.setenv("CAFFE_PYTHONPATH", f"{tmp_path}:{ROOT}")

    def make(weights):
        np.savez(tmp_path / "first.npz", **weights)
        first = str(tmp_path / "first.npz")
        return CaffePeer(sys.executable, "lenet", str(tmp_path), 1, first)

    return make


def test_the_peer_trains_from_our_first_weights_on_our_batch(make):
    peer = make({"a/ip/0": np.zeros((10, 784)), "a/ip/1": np.zeros(10)})
    first, second = peer.ask("losses", 2)
    assert peer.ask("memory") > 1
    assert len(peer.ask("times", 3)) == 3
    peer.close()
    assert first == pytest.approx(math.log(10))
    assert second < first


def test_a_peer_that_can_not_start_ends_the_run(make, capfd):
    with pytest.raises(SystemExit, match="Caffe's process ended with 1"):
        make({"other/0": np.zeros(1)})
    assert "KeyError: 'other'" in capfd.readouterr().err
