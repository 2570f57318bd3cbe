import pytest

from prototxt.errors import PrototxtError
from prototxt.text import parse_net, parse_solver


def fault(text, read=parse_net):
    with pytest.raises(PrototxtError) as caught:
        read(text, "f")
    return caught.value.faults[0].text


def test_a_field_of_another_program_is_named_with_its_origin():
    text = 'layer { name: "c" convolution_param { kernel_depth: 3 } }'
    assert fault(text) == (
        "layer 'c': ConvolutionParameter has no field 'kernel_depth'; "
        "it comes from C3D; give three 'kernel_size'"
    )


def test_a_field_one_level_too_high_is_sent_to_its_block():
    assert "it belongs into convolution_param or pooling_param" in fault(
        "layer { kernel_size: 3 }"
    )


def test_a_field_of_the_old_format_is_translated():
    assert "in this format it is param { lr_mult: 1 }" in fault("layer { blobs_lr: 1 }")


def test_a_solver_given_as_a_net_is_recognized():
    assert "looks like a solver, where a net was expected" in fault("base_lr: 1")


def test_a_net_given_as_a_solver_is_recognized():
    assert "looks like a net, where a solver was expected" in fault(
        "layer { }", parse_solver
    )


def test_a_slip_gets_the_nearest_name():
    assert "did you mean 'momentum'?" in fault("momentun: 0.9", parse_solver)
