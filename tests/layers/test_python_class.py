import sys

import pytest

import geeps_caffe
from geeps_caffe.errors import LayerError
from geeps_caffe.layers import LAYERS
from geeps_caffe.layers.base import Setting
from geeps_caffe.layers.python_class import PythonLayer, make_user_layer
from prototxt import parse_net


@pytest.fixture
def make(tmp_path):
    """Makes the user's layer of a net in tmp_path, with this code as its module."""

    def make(name, code, param='layer: "L"', phase="TRAIN"):
        (tmp_path / f"{name}.py").write_text(code)
        text = (
            'layer { name: "l" type: "Python" '
            f'python_param {{ module: "{name}" {param} }} }}'
        )
        (spec,) = parse_net(text, "net").message.layer
        setting = Setting(phase=phase, place=f"{tmp_path}/net.prototxt:1")
        return make_user_layer(LAYERS["Python"](spec, setting))

    yield make
    for name in [m for m in sys.modules if m.startswith("user_")]:
        del sys.modules[name]


CODE = """
from geeps_caffe.layers.python_class import PythonLayer

class L(PythonLayer):
    pass

class Other:
    pass
"""


def test_the_class_is_found_beside_the_prototxt(make):
    layer = make("user_found", CODE, 'layer: "L" param_str: "a b"', "TEST")
    assert type(layer).__name__ == "L"
    assert (layer.param_str, layer.phase, layer.blobs) == ("a b", 1, [])


def test_import_caffe_in_user_code_means_this_package(make):
    make("user_caffe", CODE + "import caffe\nassert caffe.__name__ == 'geeps_caffe'\n")
    assert sys.modules["caffe"] is geeps_caffe


def test_methods_that_are_missing_are_named():
    for method, arguments in (("forward", 2), ("reshape", 2), ("backward", 3)):
        with pytest.raises(NotImplementedError, match=f"PythonLayer has no {method}"):
            getattr(PythonLayer(), method)(*[()] * arguments)


@pytest.mark.parametrize(
    ("name", "param", "message"),
    [
        ("user_a", 'layer: "l"', r"user_a.py: unknown class 'l'; did you mean 'L'"),
        ("user_b", 'layer: "Other"', r"user_b.Other does not derive from caffe.Layer"),
        ("user_c", "", "python_param needs module and layer, the class in it"),
    ],
)
def test_a_class_that_is_no_layer_is_refused(make, name, param, message):
    with pytest.raises(LayerError, match=message):
        make(name, CODE, param)


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("user_d", "import none_such", r"module 'user_d' can't be imported: Module"),
        ("user_e", "\n1 / 0", r"ZeroDivisionError: .*user_e.py:2.; it is searched"),
        ("user_f", "\n1 /", r"SyntaxError: "),
    ],
)
def test_a_module_that_fails_is_named_with_its_line(make, name, code, message):
    with pytest.raises(LayerError, match=message):
        make(name, code)


def test_a_module_that_is_not_there_is_named(make, tmp_path):
    with pytest.raises(LayerError) as caught:
        make("user_g", CODE, 'module: "user_none" layer: "L"')
    message = str(caught.value)
    assert "layer 'l' (Python)" in message
    assert "module 'user_none' can't be imported" in message
    assert f"searched in PYTHONPATH and in {tmp_path}" in message
    assert "importlib" not in message
