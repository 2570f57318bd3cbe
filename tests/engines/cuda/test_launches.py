"""Layers' own code launches the kernels of the engine, not what CuPy would do for it.

Counted by name on the double, for one forward and one backward pass.
"""

import pytest

from geeps_caffe.caffe import TRAIN, Net
from tests.cuda_double.fixtures import double

__all__ = ["double"]

HEAD = """
force_backward: true
layer { name: "x" type: "DummyData" top: "x" dummy_data_param {
  shape { dim: 4 dim: 3 dim: 6 dim: 6 } data_filler { type: "gaussian" } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "conv"
  convolution_param { num_output: 4 kernel_size: 1 weight_filler { type: "xavier" } } }
layer { name: "ones" type: "DummyData" top: "ones" dummy_data_param {
  shape { dim: 4 } data_filler { type: "constant" value: 1 } } }
layer { name: "steps" type: "Reshape" bottom: "ip" top: "steps"
  reshape_param { shape { dim: 4 dim: 1 dim: 5 } } }
layer { name: "cont" type: "DummyData" top: "cont" dummy_data_param {
  shape { dim: 4 dim: 1 } data_filler { type: "constant" value: 1 } } }
"""


def layer(kind, bottoms, more="", tops="y", name="l"):
    bottom = " ".join(f'bottom: "{name}"' for name in bottoms.split())
    top = " ".join(f'top: "{name}"' for name in tops.split())
    return f'layer {{ name: "{name}" type: "{kind}" {bottom} {top} {more} }}\n'


def summed(text, *tops):
    """With the sums of the tops as losses."""
    return text + "".join(
        f'layer {{ name: "sum {top}" type: "Reduction" bottom: "{top}" '
        f'top: "sum {top}" loss_weight: 1 }}\n'
        for top in tops
    )


RECURRENT = 'recurrent_param { num_output: 3 weight_filler { type: "xavier" } }'
NETS = {
    "dropout": (
        summed(layer("Dropout", "ip"), "y"),
        {"dropout_forward": 1, "dropout_backward": 1},
    ),
    "softmax loss": (
        layer("SoftmaxWithLoss", "ip ones"),
        {"softmax_forward_rows": 1, "label_losses": 1, "label_slopes": 1},
    ),
    "logistic loss": (
        layer("SigmoidCrossEntropyLoss", "ip ip"),
        {"logistic_losses": 1, "logistic_slopes": 1},
    ),
    "accuracy": (
        layer("Accuracy", "ip ones"),
        {"label_ranks_rows": 1, "count_hits": 1},
    ),
    "lstm": (
        summed(layer("LSTM", "steps cont", RECURRENT), "y"),
        {"lstm_unit_forward": 4, "lstm_unit_backward": 4},
    ),
    "rnn": (
        summed(layer("RNN", "steps cont", RECURRENT), "y"),
        {"rnn_unit_forward": 4, "rnn_unit_backward": 4},
    ),
    "embed": (
        summed(
            layer("Embed", "ones", "embed_param { num_output: 2 input_dim: 3 }"), "y"
        ),
        {"gather_rows": 1, "scatter_add_rows": 1},
    ),
    "batch reindex": (
        summed(layer("BatchReindex", "ip ones"), "y"),
        {"gather_rows": 1, "scatter_add_rows": 1},
    ),
    "slice": (
        summed(layer("Slice", "conv", tops="y z"), "y", "z"),
        {"copy_rows": 4},
    ),
    "crop": (
        summed(
            layer("Pooling", "x", "pooling_param { kernel_size: 3 }", "z", "small")
            + layer("Crop", "conv z", "crop_param { axis: 2 offset: 1 }"),
            "y",
        ),
        {"crop_forward": 1, "crop_backward": 1},
    ),
    "tile": (
        summed(layer("Tile", "conv", "tile_param { tiles: 3 }"), "y"),
        {"tile_forward": 1, "tile_backward": 1},
    ),
    "normalization within channels": (
        summed(
            layer(
                "LRN", "conv", "lrn_param { local_size: 3 norm_region: WITHIN_CHANNEL }"
            ),
            "y",
        ),
        {"lrn_within_forward": 1, "lrn_within_backward": 1},
    ),
}


@pytest.mark.parametrize("name", NETS)
def test_kernels_run(double, tmp_path, name):
    text, wanted = NETS[name]
    (tmp_path / "net.prototxt").write_text(HEAD + text)
    net = Net(str(tmp_path / "net.prototxt"), TRAIN, engine="cuda")
    net.forward()
    net.backward()
    counts = double.machine.kernels
    assert {kernel: counts[kernel] for kernel in wanted} == wanted
