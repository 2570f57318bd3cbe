import pytest

from prototxt import parse_net, parse_solver
from prototxt.manual import forks_of
from prototxt.schema import message_class
from prototxt.unheeded import _OF_LAYERS, _OF_NETS, _OF_SOLVERS

BN = 'layer {{ name: "{}" type: "BatchNorm" batch_norm_param {{ {} }} }}\n'


def test_fields_of_forks_that_change_results_are_told_once_with_their_first_layer():
    lines = [BN.format(name, more) for name, more in [
        ("a", "eps: 0.1"), ("b", "scale_bias: true"), ("c", "scale_bias: true"),
    ]]  # fmt: skip
    (warning,) = parse_net("".join(lines), "net.prototxt").warnings
    assert warning == (
        "net.prototxt:2: layer 'b' and 1 more: batch_norm_param.scale_bias is a field "
        "of nvcaffe that changes results; it has no effect here; a Scale layer with "
        "bias_term: true after it does the same"
    )


@pytest.mark.parametrize(
    "text",
    [
        BN.format("a", "scale_bias: false engine: CUDNN"),
        'default_forward_type: FLOAT16 name: "n"',
        'layer { name: "a" type: "Pooling" pooling_param { avg_include_pad: true } }',
    ],
)
def test_defaults_and_ways_of_computing_are_not_told(text):
    assert parse_net(text).warnings == ()


def test_blocks_of_a_layer_and_lists_are_told_where_they_are_set():
    text = 'layer { name: "a" type: "Data"\n quantization_param { bw_params: 3 } }'
    (warning,) = parse_net(text, "n").warnings
    assert warning.startswith("n:2: layer 'a': quantization_param is a field of intel")


def test_solvers_are_warned_too():
    text = 'net: "n"\nmin_lr: 0.1\nrampup_interval: 0\nlarc: true'
    first, second = parse_solver(text, "s").warnings
    assert first.startswith("s:4: larc is a field of nvcaffe")
    assert second.startswith("s:2: min_lr is a field of nvcaffe")


def test_all_of_them_are_fields_of_forks():
    owners = {"SolverParameter": _OF_SOLVERS, "NetParameter": _OF_NETS}
    owners["LayerParameter"] = _OF_LAYERS
    for owner, paths in owners.items():
        for path in paths:
            block, _, name = path.rpartition(".")
            message = message_class(owner).DESCRIPTOR
            if block:
                message = message.fields_by_name[block].message_type
            assert forks_of(message.name, name), path
