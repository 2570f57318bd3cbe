"""A stand-in for cuDNN's frontend: graphs of one convolution, by the definitions."""

from ctypes import c_float
from types import SimpleNamespace

import numpy as np

from geeps_caffe.engines.operations import Convolution
from geeps_caffe.engines.reference.convolution import (
    correlate,
    spread,
    weight_gradient,
)
from tests.cuda_double.arrays import span


class Tensor:
    """Dimensions, set as a chain of calls."""

    def __init__(self, dim=None, stride=None):
        self.dim, self.stride = dim, stride

    def set_output(self, is_output):
        return self

    set_data_type = set_output

    def set_dim(self, dim):
        self.dim = dim
        return self

    def set_stride(self, stride):
        self.stride = stride
        return self


def floats(address, shape):
    """The array at an address."""
    assert isinstance(address, int)
    size = int(np.prod(shape))
    return np.frombuffer((c_float * size).from_address(address), np.float32).reshape(
        shape
    )


class Graph:
    """`machine` runs it; `deselected` is what no plan may do."""

    def __init__(self, machine):
        self.machine, self.deselected, self.workspace = machine, [], None

    def tensor(self, name, dim, stride, data_type):
        return Tensor(dim, stride)

    def conv_fprop(self, image, weight, **window):
        return self._convolve(correlate, (image, weight), 1, window)

    def conv_dgrad(self, loss, filter, **window):
        return self._convolve(spread, (loss, filter), 1, window)

    def conv_wgrad(self, image, loss, **window):
        return self._convolve(weight_gradient, (image, loss), None, window)

    def _convolve(self, function, inputs, weights, window):
        self.function, self.inputs, self.window = function, inputs, window
        self.weights, self.result = weights, Tensor()
        return self.result

    def validate(self):
        assert self.result.dim

    build_operation_graph = check_support = build_plans = validate

    def create_execution_plans(self, modes):
        assert modes

    def deselect_numeric_notes(self, notes):
        self.deselected += notes

    def deselect_workspace_greater_than(self, nbytes):
        self.workspace = nbytes

    def execute(self, tensor_dict, workspace=None, handle=None):
        """All is given by address, as in a capture it must be."""
        assert isinstance(workspace, int)
        tensors = (*self.inputs, self.result)
        first, second, out = (floats(tensor_dict[t], t.dim) for t in tensors)
        kernel = (out if self.weights is None else second).shape
        channels = {correlate: first, weight_gradient: first, spread: out}[
            self.function
        ]
        window = (self.window[name] for name in ("stride", "padding", "dilation"))
        group = channels.shape[1] // kernel[1]
        operation = Convolution(kernel[2:], *map(tuple, window), group, False)
        arrays = (first, second, out)
        run = lambda: self.function(np, operation, *arrays)  # noqa: E731
        spans = [span(a) for a in (first, second, out)]
        self.machine.submit(run, spans[:2], spans[2:], "cudnn")


def make_cudnn(machine, unsupported=False):
    """A module in the place of `cudnn`; with `unsupported` it has no plan at all."""
    made, handles = [], []

    def create_handle():
        handles.append(7)
        return 7

    def pygraph(**types):
        if unsupported:
            raise RuntimeError("no plan")
        made.append(Graph(machine))
        return made[-1]

    names = "TENSOR_CORE DOWN_CONVERT_INPUTS REDUCED_PRECISION_REDUCTION"
    names = [*names.split(), "NONDETERMINISTIC"]
    return SimpleNamespace(
        data_type=SimpleNamespace(FLOAT="float"),
        heur_mode=SimpleNamespace(A="a", FALLBACK="fallback"),
        numerical_note=SimpleNamespace(**{n: n for n in names}),
        cudnnGraphNotSupportedError=NotImplementedError,
        create_handle=create_handle,
        destroy_handle=handles.remove,
        handles=handles,
        set_stream=lambda handle, stream: None,
        pygraph=pygraph,
        made=made,
    )
