"""Deconvolution: the convolution of `reference.convolution`, transposed."""

from geeps_caffe.device.array import ArrayModule
from geeps_caffe.engines.operations import Deconvolution
from geeps_caffe.engines.reference.convolution import (
    add_bias,
    bias_gradient,
    correlate,
    spread,
    weight_gradient,
)
from geeps_caffe.engines.reference.definition import Definition, Ports
from geeps_caffe.engines.reference.windows import images


def forward(operation: Deconvolution, xp: ArrayModule, ports: Ports) -> None:
    """top0 is an image onto which each pixel of bottom0 lays its scaled kernel."""
    axes = len(operation.kernel)
    x, y = images(ports["bottom0"], axes), images(ports["top0"], axes)
    spread(xp, operation, x, ports["param0"], y)
    if operation.bias:
        add_bias(operation, y, ports["param1"])


def backward(operation: Deconvolution, xp: ArrayModule, ports: Ports) -> None:
    """The gradients that are asked for."""
    axes = len(operation.kernel)
    dy = images(ports["top0.diff"], axes)
    if "param1.diff" in ports:
        bias_gradient(dy, ports["param1.diff"])
    if "param0.diff" in ports:
        x = images(ports["bottom0"], axes)
        weight_gradient(xp, operation, dy, x, ports["param0.diff"])
    if "bottom0.diff" in ports:
        dx = images(ports["bottom0.diff"], axes)
        correlate(xp, operation, dy, ports["param0"], dx)


DEFINITION = Definition(forward, backward, frozenset({"bottom", "param"}))
