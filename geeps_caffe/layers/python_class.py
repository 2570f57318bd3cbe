"""The class that users derive from, and finding their classes."""

import importlib
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from geeps_caffe.errors import LayerError, unknown
from geeps_caffe.layers.base import Layer
from geeps_caffe.layers.python_blob import UserBlob, UserBlobs


class PythonLayer:
    """pycaffe's `caffe.Layer`: a layer whose code is the user's.

    Before `setup` there are `param_str`, `phase` (0 TRAIN, 1 TEST) and `blobs`. In
    `reshape` the tops get their shapes; it is called before each forward. `backward`
    writes the diffs of the bottoms for which propagate_down is true, and of `blobs`.

    A class that sets `on_device` gets the arrays of a GPU themselves, for CuPy or, by
    `__cuda_array_interface__`, PyCUDA, and shall work on CuPy's current stream. The
    tops' diffs are others' too, to be read alone. Other classes get NumPy's copies.
    """

    on_device: ClassVar[bool] = False
    param_str: str
    param_str_: str  # the same, under the name of Caffe of early 2015
    phase: int
    blobs: UserBlobs

    def __init__(self, param: Any = None) -> None:
        """`param` is the layer's LayerParameter."""

    def setup(self, bottom: Sequence[UserBlob], top: Sequence[UserBlob]) -> None:
        """Called once; bottoms have their shapes."""

    def reshape(self, bottom: Sequence[UserBlob], top: Sequence[UserBlob]) -> None:
        """Give the tops their shapes."""
        raise NotImplementedError(f"{type(self).__name__} has no reshape(bottom, top)")

    def forward(self, bottom: Sequence[UserBlob], top: Sequence[UserBlob]) -> None:
        """Fill the tops."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(bottom, top)")

    def backward(
        self,
        top: Sequence[UserBlob],
        propagate_down: Sequence[bool],
        bottom: Sequence[UserBlob],
    ) -> None:
        """Fill the diffs of the bottoms."""
        raise NotImplementedError(
            f"{type(self).__name__} has no backward(top, propagate_down, bottom)"
        )


def make_user_layer(layer: Layer) -> PythonLayer:
    """An instance of the class that python_param names.

    Raises:
        LayerError: no such module or class, or an error while importing it.
    """
    param = layer.spec.python_param
    if not param.module or not param.layer:
        layer.fail("python_param needs module and layer, the class in it")
    module = _import(layer, param.module)
    classes = {name: v for name, v in vars(module).items() if isinstance(v, type)}
    if param.layer not in classes:
        where = getattr(module, "__file__", param.module)
        layer.fail(f"{where}: " + unknown("class", param.layer, classes))
    found = classes[param.layer]
    if not issubclass(found, PythonLayer):
        layer.fail(f"{param.module}.{param.layer} does not derive from caffe.Layer")
    made = found(layer.spec)
    made.param_str = made.param_str_ = param.param_str
    made.phase = ("TRAIN", "TEST").index(layer.setting.phase)
    made.blobs = UserBlobs()
    return made


def _import(layer: Layer, name: str) -> ModuleType:
    # User code says `import caffe`, and means this package.
    sys.modules.setdefault("caffe", importlib.import_module("geeps_caffe"))
    folder = str(Path(layer.setting.place.rpartition(":")[0]).absolute().parent)
    try:
        with _on_path(folder):
            return importlib.import_module(name)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        inside = not last.filename.startswith("<frozen")  # else it was not even found
        place = f" ({last.filename}:{last.lineno})" if inside else ""
        raise LayerError(
            f"{layer.title}: module {name!r} can't be imported: "
            f"{type(error).__name__}: {error}{place}; it is searched in PYTHONPATH and "
            f"in {folder}"
        ) from error


@contextmanager
def _on_path(folder: str) -> Iterator[None]:
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
