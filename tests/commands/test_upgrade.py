"""The three upgrade tools, on what the real ones were seen to do."""

import re

import pytest

from geeps_caffe.commands import (
    upgrade_net_proto_binary,
    upgrade_net_proto_text,
    upgrade_solver_proto_text,
)
from prototxt import read_weights

NETS = ["v0_data_layers", "v1_all_types", "v1_inputs", "v2_legacy_input"]
TOOLS = [upgrade_net_proto_binary, upgrade_net_proto_text, upgrade_solver_proto_text]


@pytest.mark.parametrize("name", NETS)
def test_a_net_becomes_what_caffe_made_of_it(
    name, golden, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(golden / "upgrade")
    out = tmp_path / "out.prototxt"
    code = upgrade_net_proto_text.main([f"{name}.prototxt", str(out)])
    log = (golden / "upgrade" / f"{name}.log").read_text().splitlines()
    assert code == int(re.search(r"\d+", log[-1])[0])
    wanted = golden / "upgrade" / f"{name}.upgraded.prototxt"
    assert out.read_text() == wanted.read_text()
    said = [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()]
    assert said[:-1] == log[:-2]  # without the name of the new file


def test_a_solver_becomes_what_caffe_made_of_it(golden, tmp_path):
    source = golden / "upgrade" / "solver_adam.prototxt"
    out = tmp_path / "out.prototxt"
    assert upgrade_solver_proto_text.main([str(source), str(out)]) == 0
    wanted = golden / "upgrade" / "solver_adam.upgraded.prototxt"
    assert out.read_text() == wanted.read_text()


def test_weights_keep_their_values(golden, tmp_path):
    source = golden / "upgrade" / "v1_weights.caffemodel"
    out = tmp_path / "out.caffemodel"
    assert upgrade_net_proto_binary.main([str(source), str(out)]) == 0
    wanted = read_weights(golden / "upgrade" / "v1_weights.upgraded.caffemodel")
    layers = read_weights(out).layers
    assert [layer.name for layer in layers] == [layer.name for layer in wanted.layers]
    for layer, other in zip(layers, wanted.layers, strict=True):
        for blob, value in zip(layer.blobs, other.blobs, strict=True):
            assert blob.array().tobytes() == value.array().tobytes()


@pytest.mark.parametrize("tool", TOOLS)
def test_without_two_files_the_usage_is_told(tool, capsys):
    assert tool.main(["only.prototxt"]) == 1
    assert "Usage: upgrade_" in capsys.readouterr().err
