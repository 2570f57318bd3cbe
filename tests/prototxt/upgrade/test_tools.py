import shutil

import pytest

from prototxt.errors import PrototxtError
from prototxt.schema import NetParameter
from prototxt.text import read_net
from prototxt.upgrade.tools import (
    upgrade_net_binary,
    upgrade_net_text,
    upgrade_solver_text,
)
from tests.conftest import GOLDEN

TOOLS = {
    "upgrade_net_proto_text": upgrade_net_text,
    "upgrade_net_proto_binary": upgrade_net_binary,
    "upgrade_solver_proto_text": upgrade_solver_text,
}


def cases():
    """Tool, source, target and exit code of each recorded run whose files are here."""
    for line in (GOLDEN / "upgrade" / "commands.txt").read_text().splitlines():
        command, _, code = line.partition("# exit ")
        tool, source, target = command.split()
        if (GOLDEN / "upgrade" / source).exists():
            yield pytest.param(tool, source, target, int(code), id=source)


@pytest.mark.parametrize(("tool", "source", "target", "code"), list(cases()))
def test_a_tool_does_what_caffes_does_byte_for_byte(
    tool, source, target, code, tmp_path, monkeypatch
):
    shutil.copy(GOLDEN / "upgrade" / source, tmp_path)
    monkeypatch.chdir(tmp_path)
    outcome = TOOLS[tool](source, target)
    expected = (GOLDEN / "upgrade" / target).read_bytes()
    assert (tmp_path / target).read_bytes() == expected
    assert outcome.complete == (code == 0)


@pytest.mark.parametrize(
    "log", sorted((GOLDEN / "upgrade").glob("*.log")), ids=lambda path: path.name
)
def test_a_tool_logs_what_caffes_logs(log, tmp_path, monkeypatch):
    source = log.with_suffix(".prototxt")
    shutil.copy(source, tmp_path)
    monkeypatch.chdir(tmp_path)
    outcome = upgrade_net_text(source.name, f"{source.stem}.upgraded.prototxt")
    told = [note.text for note in outcome.notes]
    told.append(f"exit code {int(not outcome.complete)}")
    assert told == log.read_text().splitlines()


def test_a_current_file_is_said_to_be_one(tmp_path):
    out = tmp_path / "out"
    source = GOLDEN / "upgrade" / "v1_inputs.upgraded.prototxt"
    first = upgrade_net_text(source, out).notes[0]
    assert (first.severity, first.text) == (
        "E",
        f"File already in latest proto format: {source}",
    )
    assert out.read_bytes() == source.read_bytes()


def test_a_net_of_two_formats_is_put_in_order(tmp_path):
    source, target = tmp_path / "mixed", tmp_path / "out"
    source.write_text(
        'layer { name: "a" type: "Input" top: "x" }\n'
        'layers { name: "b" type: RELU bottom: "x" top: "y" }\n'
        'layer { name: "c" type: "TanH" bottom: "y" top: "z" }\n'
    )
    outcome = upgrade_net_text(source, target)
    layers = read_net(target).message.layer
    assert [(la.name, la.type) for la in layers] == [
        ("a", "Input"),
        ("b", "ReLU"),
        ("c", "TanH"),
    ]
    assert [(note.severity, note.text.split()[0]) for note in outcome.notes] == [
        ("I", "Attempting"),
        ("I", "Successfully"),
        ("I", "Wrote"),
    ]


def test_what_a_net_of_two_formats_loses_is_told(tmp_path):
    source, target = tmp_path / "mixed", tmp_path / "out"
    source.write_text(
        'layer { name: "a" type: "Input" top: "x" }\n'
        'layers { layer { name: "b" type: "relu" kernelsize: 3 } '
        'bottom: "x" top: "y" }\n'
    )
    outcome = upgrade_net_text(source, target)
    assert not outcome.complete
    texts = [note.text for note in outcome.notes if note.severity == "E"]
    assert texts[0] == "Unknown parameter kernelsize for layer type relu"


def test_weights_with_old_inputs_get_an_input_layer_and_keep_their_blobs(tmp_path):
    net = NetParameter(name="n", input=["x"], input_dim=[1, 2, 3, 4])
    net.layers.add(name="c", type=4).blobs.add(num=1, data=[5])
    source, target = tmp_path / "old.caffemodel", tmp_path / "new.caffemodel"
    source.write_bytes(net.SerializeToString())
    upgrade_net_binary(source, target)
    new = NetParameter.FromString(target.read_bytes())
    assert [layer.name for layer in new.layer] == ["input", "c"]
    assert list(new.layer[1].blobs[0].data) == [5]
    assert not new.input


def test_a_refused_file_leaves_the_target_alone(tmp_path):
    source, target = tmp_path / "bad", tmp_path / "out"
    source.write_text("nonsense: 1")
    target.write_text("precious")
    with pytest.raises(PrototxtError):
        upgrade_net_text(source, target)
    assert target.read_text() == "precious"
