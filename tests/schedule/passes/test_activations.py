import pytest

from tests.schedule.passes.texts import CONVOLUTION, INPUT, LOSS, lines, relu

FORWARD = ["forward ip", "forward loss"]


def forward(text, only="activations", **options):
    return [line for line in lines(text, only, **options) if "forward" in line]


@pytest.mark.parametrize("phase", ["TRAIN", "TEST"])
def test_a_relu_in_place_joins_the_convolution_before_it(phase):
    text = INPUT + CONVOLUTION + relu("relu", "conv") + LOSS
    assert forward(text, phase=phase) == ["forward conv and relu", *FORWARD]


def test_backward_stays_as_it_was():
    text = INPUT + CONVOLUTION + relu("relu", "conv") + LOSS
    fused, apart = lines(text, "activations"), lines(text, "")
    start = fused.index("fill loss.diff = 1")
    assert fused[start:] == apart[apart.index("fill loss.diff = 1") :]
    assert apart[:2] == ["forward conv", "forward relu"]


def test_so_does_one_with_a_top_of_its_own():
    text = INPUT + CONVOLUTION.replace('top: "conv"', 'top: "c"')
    text += relu("relu", "c", "conv") + LOSS
    assert forward(text) == ["forward conv and relu", *FORWARD]


def test_not_where_others_read_what_is_between():
    text = INPUT + CONVOLUTION.replace('top: "conv"', 'top: "c"')
    text += relu("relu", "c", "conv") + LOSS
    text += 'layer { name: "also" type: "Silence" bottom: "c" }'
    assert "forward relu" in forward(text)


def test_not_where_what_is_between_is_to_be_read_afterwards():
    text = INPUT + CONVOLUTION.replace('top: "conv"', 'top: "c"')
    text += relu("relu", "c", "conv") + LOSS
    assert "forward relu" in forward(text, keep=frozenset({"c", "loss"}))


def test_not_where_every_blob_stays_readable():
    text = INPUT + CONVOLUTION + relu("relu", "conv") + LOSS
    assert "forward relu" in forward(text, keep_all=True)


def test_not_where_backward_needs_the_sign_of_the_bottom():
    negative = relu("relu", "conv")[:-1] + " relu_param { negative_slope: -0.5 } }"
    assert "forward relu" in forward(INPUT + CONVOLUTION + negative + LOSS)


def test_a_relu_joins_a_sum_and_an_inner_product():
    text = INPUT + CONVOLUTION + relu("relu", "conv", "other")
    text += (
        'layer { name: "sum" type: "Eltwise" bottom: "conv" bottom: "other" top: "s" }'
    )
    text += relu("relu2", "s") + LOSS.replace('bottom: "conv"', 'bottom: "s"')
    text = text.replace(
        'layer { name: "loss"', relu("relu3", "ip") + 'layer { name: "loss"'
    )
    found = forward(text)
    assert "forward sum and relu2" in found and "forward ip and relu3" in found
