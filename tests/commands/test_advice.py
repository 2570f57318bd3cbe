import pytest

from geeps_caffe.commands.plan import main
from tests.commands.test_plan import number

NET = """
layer { name: "data" type: "DummyData" top: "data" top: "label"
  dummy_data_param {
    shape { dim: 8 dim: 1 dim: 12 dim: 12 } shape { dim: 8 }
    data_filler { type: "gaussian" } data_filler { type: "constant" value: 1 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 4 kernel_size: 3 } }
layer { name: "tanh" type: "TanH" bottom: "conv" top: "tanh" }
layer { name: "pool" type: "Pooling" bottom: "tanh" top: "pool"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param { num_output: 2 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""

FLOATS = 8 * 4 * 10 * 10 * 4  # bytes of what conv and tanh make


@pytest.fixture
def net(tmp_path, monkeypatch):
    (tmp_path / "net.prototxt").write_text(NET)
    monkeypatch.chdir(tmp_path)


def shown(capsys, *flags):
    assert main(["-model=net.prototxt", "-engine=reference", *flags]) == 0
    return capsys.readouterr().out


def test_a_plan_tells_the_least_memory_and_that_without_loss(net, capsys):
    text = shown(capsys)
    least = number(text, "least memory")
    enough = number(text, "memory without loss")
    assert least == 3 * FLOATS  # backward tanh: its top and both gradients
    assert enough == least + 8 * 12 * 12 * 4 + 64  # data, and a loss in 64 bytes
    assert number(shown(capsys, f"-memory={enough}"), "moved in a step") == 0
    assert number(shown(capsys, f"-memory={least}"), "moved in a step") > 0


def test_with_costs_memory_without_loss_may_be_less(net, capsys):
    plain = number(shown(capsys), "memory without loss")
    text = shown(capsys, "-costs=k20c")
    assert "(by the costs of k20c)" in text
    assert number(text, "memory without loss") <= plain


def test_the_largest_batch_that_fits_is_told(net, capsys):
    least = number(shown(capsys), "least memory")
    assert number(shown(capsys, f"-memory={least}"), "largest batch") == 8
    assert number(shown(capsys, f"-memory={2 * least}"), "largest batch") == 16
    text = shown(capsys, f"-memory={least * 5}")
    assert "(now 8)" in text
    assert 38 <= number(text, "largest batch") <= 42


def test_a_net_of_one_batch_alone_says_so(net, capsys, tmp_path):
    layer = 'layer { name: "flat" type: "Reshape" bottom: "ip" top: "flat"\n'
    layer += "  reshape_param { shape { dim: 8 dim: 2 } } }\n"
    text = NET.replace('layer { name: "loss"', layer + 'layer { name: "loss"')
    text = text.replace(
        'bottom: "ip" bottom: "label"', 'bottom: "flat" bottom: "label"'
    )
    (tmp_path / "net.prototxt").write_text(text)
    text = shown(capsys, "-memory=100%")
    assert "largest batch         not known: with another one, layer 'flat'" in text
