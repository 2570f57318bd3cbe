"""Which convolutions lie with channels last: a rule of figures, by the processor."""

from dataclasses import replace

import pytest

from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.convolution import make_convolution
from geeps_caffe.engines.onednn.threads import set_openmp_threads
from geeps_caffe.engines.operations import Convolution


def layout(engine, vendor, kernel, channels, outputs, group=1):
    """How the bottom of a forward pass lies on a processor of that vendor."""
    kit = replace(engine.kit, vendor=vendor, known={})
    request = forward(kernel, channels, outputs, group)
    return make_convolution(kit, request).layouts["bottom0"].name


def forward(kernel, channels, outputs, group=1):
    pad = kernel // 2
    shapes = {
        "bottom0": (2, channels, 14, 14),
        "param0": (outputs, channels // group, kernel, kernel),
        "top0": (2, outputs, 14, 14),
    }
    window = ((kernel, kernel), (1, 1), (pad, pad), (1, 1))
    operation = Convolution(*window, group, False)
    return Request(operation, "forward", shapes)


@pytest.fixture
def wide(engine):
    """Whether this processor has the vectors that the rule for Intel's is about."""
    return engine.version.isa.startswith("AVX-512")


@pytest.mark.parametrize(
    ("kernel", "channels", "outputs", "group"), [(3, 64, 64, 1), (5, 96, 256, 2)]
)
def test_on_intels_processors_channels_are_last(
    engine, wide, kernel, channels, outputs, group
):
    found = layout(engine, "GenuineIntel", kernel, channels, outputs, group)
    assert (found == "acdb") == wide


def test_windows_of_one_element_stay_in_blocks(engine):
    assert layout(engine, "GenuineIntel", 1, 64, 64) in ("aBcd16b", "aBcd8b")


@pytest.mark.parametrize("vendor", ["AuthenticAMD", ""])
def test_elsewhere_channels_that_fill_their_blocks_lie_in_these(engine, vendor):
    assert layout(engine, vendor, 3, 64, 64) in ("aBcd16b", "aBcd8b")


@pytest.mark.parametrize("vendor", ["AuthenticAMD", "GenuineIntel", ""])
def test_channels_that_do_not_fill_them_are_last(engine, vendor):
    assert layout(engine, vendor, 5, 20, 50) == "acdb"


def test_what_oneDNN_has_is_asked_for_each_number_of_threads(engine):
    """What it has for one may be other code than for two, whoever asked first."""
    kit = replace(engine.kit, known={})
    make_convolution(kit, forward(5, 20, 50))
    found = set(kit.known)
    set_openmp_threads(kit.api.library, engine.threads + 1)
    try:
        make_convolution(kit, forward(5, 20, 50))
    finally:
        set_openmp_threads(kit.api.library, engine.threads)
    assert found and len(kit.known) == 2 * len(found)
