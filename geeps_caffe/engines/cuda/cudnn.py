"""Convolutions by cuDNN, through its frontend, where that is installed.

Only plans that compute in float32, without tensor cores (no TF32) and alike on every
run, within the scratch memory that was planned; where cuDNN has none, columns do.
"""

import importlib
import logging
import weakref
from collections.abc import Mapping
from math import prod
from typing import Any

from geeps_caffe.device.array import Array, ArrayModule, Shape
from geeps_caffe.device.kernels import Call, pointer
from geeps_caffe.engines.cuda.columns import Geometry

_LOG = logging.getLogger(__name__)

#: Pass -> the graph's method, its two inputs by their names there, and its output.
PASSES: Mapping[str, tuple[str, Mapping[str, str], str]] = {
    "correlate": ("conv_fprop", {"image": "x", "weight": "w"}, "y"),
    "spread": ("conv_dgrad", {"loss": "y", "filter": "w"}, "x"),
    "weight_gradient": ("conv_wgrad", {"image": "x", "loss": "y"}, "w"),
}
UNWANTED = (
    "TENSOR_CORE",
    "DOWN_CONVERT_INPUTS",
    "REDUCED_PRECISION_REDUCTION",
    "NONDETERMINISTIC",
)
#: Where there is no plan; the frontend imports some of what it needs only then.
_REFUSALS = (RuntimeError, NotImplementedError, ImportError)


class Cudnn:
    """cuDNN on one device. Its handle, which takes memory, ends with the object."""

    def __init__(self, frontend: Any, cupy: ArrayModule) -> None:
        self._frontend, self._cupy = frontend, cupy
        self._handle = frontend.create_handle()
        weakref.finalize(self, frontend.destroy_handle, self._handle).atexit = False

    def bind(
        self, kind: str, sizes: Geometry, arrays: Mapping[str, Array], scratch: Array
    ) -> Call | None:
        """The call of one of PASSES over x, y and w; None where cuDNN has no plan."""
        if len(sizes.image) not in (2, 3):
            return None
        shapes = _shapes(sizes)
        try:
            graph, tensors = self._graph(kind, sizes, shapes)
            self._plan(graph, scratch.nbytes)
        except (*_REFUSALS, self._frontend.cudnnGraphNotSupportedError):
            return None
        # By address: asked for one, CuPy's arrays make the default stream wait, which
        # no capture allows.
        pack = {tensor: pointer(arrays[name]) for name, tensor in tensors.items()}
        parts = (self._frontend, self._cupy, self._handle, graph, pack)
        kept = (self, *arrays.values(), scratch)
        return _Execution(*parts, pointer(scratch), kept=kept)

    def _graph(
        self, kind: str, sizes: Geometry, shapes: Mapping[str, Shape]
    ) -> tuple[Any, dict[str, Any]]:
        method, inputs, output = PASSES[kind]
        number = self._frontend.data_type.FLOAT
        graph = self._frontend.pygraph(
            io_data_type=number,
            intermediate_data_type=number,
            compute_data_type=number,
            handle=self._handle,
        )
        tensors = {
            name: graph.tensor(
                name=name,
                dim=list(shapes[name]),
                stride=_strides(shapes[name]),
                data_type=number,
            )
            for name in inputs.values()
        }
        op = sizes.operation
        result = getattr(graph, method)(
            **{argument: tensors[name] for argument, name in inputs.items()},
            padding=list(op.pad),
            stride=list(op.stride),
            dilation=list(op.dilation),
        )
        result.set_output(True).set_data_type(number)
        result.set_dim(list(shapes[output])).set_stride(_strides(shapes[output]))
        return graph, {**tensors, output: result}

    def _plan(self, graph: Any, workspace: int) -> None:
        modes, notes = self._frontend.heur_mode, self._frontend.numerical_note
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([modes.A, modes.FALLBACK])
        graph.deselect_numeric_notes([getattr(notes, name) for name in UNWANTED])
        graph.deselect_workspace_greater_than(workspace)
        graph.check_support()
        graph.build_plans()


class _Execution:
    """A planned graph with its arrays; runs on the current stream."""

    def __init__(self, *parts: Any, kept: tuple[Any, ...]) -> None:
        self._kept = kept  # alive as long as addresses and the handle are used
        frontend, self._cupy, self._handle, self._graph, self._pack, self._scratch = (
            parts
        )
        self._set_stream = frontend.set_stream

    def __call__(self) -> None:
        stream = self._cupy.cuda.get_current_stream().ptr
        self._set_stream(handle=self._handle, stream=stream)
        self._graph.execute(self._pack, self._scratch, handle=self._handle)


def _shapes(sizes: Geometry) -> dict[str, Shape]:
    op = sizes.operation
    return {
        "x": (sizes.images, sizes.inputs, *sizes.image),
        "y": (sizes.images, sizes.outputs, *sizes.out),
        "w": (sizes.outputs, sizes.inputs // op.group, *op.kernel),
    }


def _strides(shape: Shape) -> list[int]:
    """In elements, C order."""
    return [prod(shape[i + 1 :]) for i in range(len(shape))]


def open_cudnn(cupy: ArrayModule) -> Cudnn | None:
    """cuDNN, if it is installed; a line says where its frontend lacks something.

    Frontends look for the library when they are imported, or for the first handle.
    """
    try:
        frontend = importlib.import_module("cudnn")
        return Cudnn(frontend, cupy)
    except (ImportError, OSError, RuntimeError) as error:
        if getattr(error, "name", "") != "cudnn":  # which would be the frontend
            _LOG.warning("convolutions without cuDNN, which is slower: %s", error)
        return None
