import logging
from pathlib import Path

import h5py
import numpy as np
import pytest

import prototxt
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.graph.remarks import log_remarks, remarks
from geeps_caffe.layers.base import Setting

INPUT = (
    'layer { name: "x" type: "Input" top: "x" '
    "input_param { shape { dim: 4 dim: 2 dim: 5 dim: 5 } } }\n"
)
NORM = (
    'layer {{ name: "{0}" type: "BatchNorm" bottom: "x" top: "{0}" '
    "batch_norm_param {{ use_global_stats: {1} }} }}\n"
)


def built(text, phase="TEST"):
    document = prototxt.parse_net(INPUT + text, "net.prototxt")
    source = Source(document.message, document.path, document.layer_lines)
    return build_graph(source, NetState(phase))


def enlarging(kind="Deconvolution", group=1, outputs=2, filler="bilinear"):
    return (
        f'layer {{ name: "up" type: "{kind}" bottom: "x" top: "up" '
        f"convolution_param {{ kernel_size: 4 stride: 2 pad: 1 group: {group} "
        f'num_output: {outputs} weight_filler {{ type: "{filler}" }} }} }}\n'
    )


def test_batch_statistics_in_a_test_are_remarked_once_a_net():
    many = "".join(NORM.format(f"n{i}", "false") for i in range(100))
    (remark,) = remarks(built(many))
    assert remark.startswith("layer 'n0' (BatchNorm) at net.prototxt:2 and 99 more: ")
    assert "use_global_stats is false in TEST, so results depend on the" in remark


def test_a_single_layer_stands_alone():
    (remark,) = remarks(built(NORM.format("n", "false")))
    assert remark.startswith("layer 'n' (BatchNorm) at net.prototxt:2: use_global")


def test_usual_statistics_need_no_remark():
    assert remarks(built(NORM.format("n", "false"), "TRAIN")) == []
    assert remarks(built(NORM.format("n", "true"))) == []


def test_interpolated_channels_that_are_added_up_are_remarked():
    for kind in ("Deconvolution", "Convolution"):
        (remark,) = remarks(built(enlarging(kind)))
        assert f"layer 'up' ({kind})" in remark
        assert "each output is a sum of 2 interpolated channels" in remark
        assert "give group: 2 and num_output: 2" in remark


def test_each_channel_by_itself_needs_no_remark():
    assert remarks(built(enlarging(group=2))) == []
    assert remarks(built(enlarging(filler="xavier"))) == []


STEPS = """
layer { name: "d" type: "HDF5Data" top: "x" top: "cont"
  hdf5_data_param { source: "list.txt" batch_size: 4 } }
layer { name: "lstm" type: "LSTM" bottom: "x" bottom: "cont" top: "lstm"
  recurrent_param { num_output: 3 } }
"""


def test_time_steps_that_are_made_up_need_no_remark():
    text = """
layer { name: "d" type: "DummyData" top: "x" top: "cont"
  dummy_data_param { shape { dim: 4 dim: 2 dim: 3 } shape { dim: 4 dim: 2 } } }
"""
    document = prototxt.parse_net(text + STEPS[STEPS.index('layer { name: "lstm') :])
    source = Source(document.message)
    assert remarks(build_graph(source, NetState("TRAIN"), Setting(ranks=2))) == []


@pytest.mark.parametrize(
    ("setting", "remarked"),
    [
        (Setting(ranks=2), True),
        (Setting(), False),
        (Setting(ranks=2, own_data=True), False),
        (Setting(ranks=2, whole_batches=True), False),
    ],
)
def test_time_steps_that_workers_share_out_are_remarked(
    tmp_path, monkeypatch, setting, remarked
):
    monkeypatch.chdir(tmp_path)
    with h5py.File("steps.h5", "w") as file:
        file["x"], file["cont"] = np.ones((8, 2, 3)), np.ones((8, 2))
    Path("list.txt").write_text("steps.h5\n")
    document = prototxt.parse_net(STEPS, "net.prototxt")
    source = Source(document.message, document.path, document.layer_lines)
    graph = build_graph(source, NetState("TRAIN"), setting)
    found = remarks(graph)
    for node in graph.nodes:
        node.layer.close()
    assert len(found) == remarked
    for remark in found:
        assert "layer 'lstm' (LSTM)" in remark
        assert "records of layer 'd' (HDF5Data) at net.prototxt:2 are" in remark


def test_remarks_are_warnings_of_the_log(caplog):
    with caplog.at_level(logging.WARNING):
        log_remarks(built(NORM.format("n", "false") + enlarging()))
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
