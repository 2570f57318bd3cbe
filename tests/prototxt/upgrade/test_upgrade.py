import pytest

from prototxt.errors import PrototxtError
from prototxt.schema import NetParameter
from prototxt.text import parse_text, read_net, read_solver, read_text
from prototxt.upgrade import upgrade_net
from prototxt.write import write_text
from tests.conftest import GOLDEN

UPGRADED = sorted((GOLDEN / "upgrade").glob("*.upgraded.prototxt"))


@pytest.mark.parametrize("path", UPGRADED, ids=lambda path: path.name)
def test_old_files_are_read_as_caffe_upgrades_them(path):
    source = path.with_name(path.name.replace(".upgraded", ""))
    read = read_solver if source.name.startswith("solver") else read_net
    assert write_text(read(source).message) == path.read_text()


LOGGED = sorted((GOLDEN / "upgrade").glob("*.log"))
WORDS_OF_THE_TOOL = ("Wrote upgraded", "Encountered error(s)", "exit code")


@pytest.mark.parametrize("log", LOGGED, ids=lambda path: path.name)
def test_upgrades_are_told_in_the_words_of_caffe(log):
    net = read_text(log.with_suffix(".prototxt"), NetParameter).message
    upgraded = upgrade_net(net, log.with_suffix(".prototxt").name)
    lines = log.read_text().splitlines()
    told = [line for line in lines if not line.startswith(WORDS_OF_THE_TOOL)]
    assert [note.text for note in upgraded.notes] == told


NETS = [path for path in UPGRADED if not path.name.startswith("solver")]


@pytest.mark.parametrize("path", NETS, ids=lambda path: path.name)
def test_a_second_upgrade_changes_nothing(path):
    net = read_text(path, NetParameter).message
    assert upgrade_net(net, "n").message == net


def test_the_old_net_is_left_as_it_is():
    text = 'input: "x" input_dim: [1,1,1,1] layers { type: RELU bottom: "x" }'
    old = parse_text(text, NetParameter).message
    upgrade_net(old, "n")
    assert old == parse_text(text, NetParameter).message


def test_a_net_of_two_formats_is_refused():
    net = parse_text("layer { } layers { }", NetParameter).message
    with pytest.raises(PrototxtError, match="includes both 'layer' and 'layers'"):
        upgrade_net(net, "n")


def test_every_new_layer_knows_the_old_one():
    text = 'input: "x" input_dim: [1,1,1,1] layers { name: "a" } layers { name: "b" }'
    upgraded = upgrade_net(parse_text(text, NetParameter).message, "n")
    assert upgraded.sources == (-1, 0, 1)
