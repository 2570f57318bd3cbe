"""Nets written in Python, beside the text that the real pycaffe made of them."""

import runpy
from pathlib import Path

import pytest

import geeps_caffe as caffe
import prototxt
from geeps_caffe import layers as L
from geeps_caffe import params as P
from geeps_caffe.commands.run import caffe_answered
from geeps_caffe.errors import GraphError

GOLDEN = Path(__file__).parents[1] / "golden" / "pycaffe"


@pytest.mark.parametrize("name", ["lenet", "anon", "misc"])
def test_nets_are_those_of_pycaffe(name):
    with caffe_answered():
        made = runpy.run_path(str(GOLDEN / "net_spec_script.txt"))["RESULT"]
    assert made[name] == (GOLDEN / f"net_spec_{name}.prototxt").read_text()


def test_a_script_may_import_geeps_caffe_under_its_own_name():
    script = (GOLDEN / "net_spec_script.txt").read_text()
    for ours, theirs in (
        ("import geeps_caffe as caffe\n", "import caffe\n"),
        ("from geeps_caffe import layers", "from caffe import layers"),
    ):
        assert theirs in script
        script = script.replace(theirs, ours)
    names = {}
    exec(script, names)
    wanted = (GOLDEN / "net_spec_lenet.prototxt").read_text()
    assert names["RESULT"]["lenet"] == wanted


@pytest.mark.parametrize("layers", [L, caffe.layers, caffe.caffe.layers])
def test_layer_types_are_functions_under_each_name(layers):
    assert layers.ReLU(layers.Input()).fn.type_name == "ReLU"
    assert layers.TheirOwn().fn.type_name == "TheirOwn"


def test_modules_of_the_package_are_no_layer_types():
    with pytest.raises(AttributeError, match="no attribute 'convolutions'"):
        _ = L.convolutions
    assert L.convolution.__name__ == "geeps_caffe.layers.convolution"


def test_tops_are_attributes_and_items():
    n = caffe.NetSpec()
    n.data = L.Input(shape={"dim": [1, 2]})
    n["a/b"] = L.ReLU(n.data)
    assert n.keys() == ["data", "a/b"]
    assert n.vals() == [n.data, n["a/b"]]
    n.update("a/b", {"negative_slope": 0.5})
    assert n.to_proto().layer[1].relu_param.negative_slope == 0.5
    del n["a/b"]
    assert n.keys() == ["data"]
    with pytest.raises(AttributeError, match="unknown top 'dat'; did you mean 'data'"):
        _ = n.dat


def test_a_top_is_a_net_of_its_own():
    text = str(L.ReLU(L.Input(shape={"dim": [1, 2]})).to_proto())
    assert [layer.name for layer in prototxt.parse_net(text).message.layer] == [
        "Input1",
        "ReLU1",
    ]


def test_fields_are_looked_for_in_the_layers_parameters_first():
    top = L.Convolution(
        L.Input(shape={"dim": [1, 1, 5, 5]}),
        num_output=2,
        kernel_size=[3, 3],
        loss_weight=2,
        param=[{"lr_mult": 0}, {"lr_mult": 3}],
        weight_filler={"type": "gaussian", "std": 0.5},
    )
    layer = top.to_proto().layer[1]
    assert list(layer.convolution_param.kernel_size) == [3, 3]
    assert list(layer.loss_weight) == [2]
    assert [p.lr_mult for p in layer.param] == [0, 3]
    assert layer.convolution_param.weight_filler.std == 0.5


def test_enums_are_found_by_layer():
    assert P.Pooling.AVE == 1
    assert P.Data.LMDB == caffe.proto.caffe_pb2.DataParameter.LMDB
    with pytest.raises(AttributeError, match="did you mean 'Pooling'"):
        _ = P.Poling


def test_an_unknown_field_is_named():
    with pytest.raises(GraphError, match="did you mean 'num_output'"):
        L.InnerProduct(L.Input(), num_outputs=3).to_proto()


def test_what_is_no_top_is_refused():
    with pytest.raises(TypeError, match="input 0 is 3"):
        L.ReLU(3)


def test_a_layer_that_many_read_is_written_once():
    data = L.Input(shape={"dim": [1, 2]})
    net = caffe.to_proto(L.Eltwise(L.ReLU(data), L.TanH(data)))
    kinds = [layer.type for layer in net.layer]
    assert kinds == ["Input", "ReLU", "TanH", "Eltwise"]


def test_deep_nets_are_no_matter():
    top = L.Input(shape={"dim": [1, 2]})
    for _ in range(3000):
        top = L.ReLU(top, in_place=True)
    assert len(top.to_proto().layer) == 3001


def test_a_net_that_was_written_runs(tmp_path):
    n = caffe.NetSpec()
    n.data = L.Input(shape={"dim": [2, 3]})
    n.score = L.InnerProduct(n.data, num_output=4, weight_filler={"type": "xavier"})
    (tmp_path / "net.prototxt").write_text(str(n.to_proto()))
    net = caffe.Net(str(tmp_path / "net.prototxt"), caffe.TEST)
    assert net.forward()["score"].shape == (2, 4)


# -- caffe_pb2 -------------------------------------------------------------------


def test_messages_and_enums_have_pycaffes_names():
    from geeps_caffe.caffe.proto.caffe_pb2 import (  # noqa: PLC0415
        TEST,
        LayerParameter,
        NetParameter,
        Phase,
    )

    net = NetParameter(layer=[LayerParameter(type="ReLU", phase=TEST)])
    assert Phase.Name(net.layer[0].phase) == "TEST"
    assert caffe.caffe_pb2.V1LayerParameter.LayerType.Name(14) == "INNER_PRODUCT"
    assert {"SolverParameter", "TRAIN"} <= set(dir(caffe.caffe_pb2))


def test_a_name_that_is_none_is_answered_with_the_nearest():
    with pytest.raises(AttributeError, match="did you mean 'NetParameter'"):
        _ = caffe.caffe_pb2.NetParametr


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"pool": "MAXX"}, ValueError, "PoolingParameter: pool: .*MAXX"),
        ({"kernel_size": "three"}, TypeError, "PoolingParameter: kernel_size: "),
        ({"bottom": [3]}, TypeError, "LayerParameter: bottom: "),
    ],
)
def test_a_value_that_a_field_can_not_have_is_said_with_the_field(
    params, error, message
):
    with pytest.raises(error, match=message):
        L.Pooling(L.Input(), **params).to_proto()
