"""An engine that demands odd layouts: bytes in another order, padding in front."""

import numpy as np

from geeps_caffe.device.array import count
from geeps_caffe.device.device import HostDevice
from geeps_caffe.engines.engine import Description, Layout
from geeps_caffe.engines.one_lane import OneLane
from geeps_caffe.engines.reference.engine import ReferenceEngine


class OddEngine:
    """Runs definitions on arrays that it wants "odd": reversed, after 64 bytes of 0.

    `wants(request, port)` says which ports are odd; by default those whose name ends
    in an even digit. It has scratch, which it fills with nonsense.
    """

    name = "odd"
    xp = np
    device = HostDevice()
    updates = draw = None

    def __init__(self, wants=None):
        self.wants = wants or (lambda request, port: port.split(".")[0][-1] in "02468")
        self.plain = ReferenceEngine()
        self.device = self.plain.device
        self.lanes = OneLane(self.describe, self.bind)

    def functions(self, dtype):
        return self.plain.functions(dtype)

    def describe(self, request):
        found = self.plain.describe(request)
        layouts = {
            port: self._layout(request, port, layout)
            for port, layout in found.layouts.items()
        }
        return Description(layouts, found.saved, scratch=192, implementation="odd")

    def _layout(self, request, port, layout):
        if port.startswith("saved"):
            return layout
        size = np.dtype(request.dtype).itemsize * count(request.shapes[port])
        odd = self.wants(request, port)
        return Layout("odd", size + 64) if odd else Layout("plain", size)

    def bind(self, request, description, arrays, scratch):
        found = self.plain.describe(request)
        ports = {}
        odd = [p for p, layout in description.layouts.items() if not layout.plain]
        for port, array in arrays.items():
            ports[port] = array
            if port in odd:
                ports[port] = np.empty(request.shapes[port], request.dtype)
        call = self.plain.bind(request, found, ports, None)

        def run():
            scratch[...] = 0xA5
            for port in odd:
                ports[port][...] = _values(arrays[port], ports[port])
            call()
            for port in odd:
                _values(arrays[port], ports[port])[...] = ports[port]
                arrays[port][:64] = 0

        return run

    def rows_layout(self, shape, layout, rows):
        return self.plain.rows_layout(shape, layout, rows)

    def bind_reorder(self, shape, source, target, dtype):
        like = np.empty(shape, dtype)

        def run():
            like[...] = _read(source, like)
            if target[1].plain:
                target[0].reshape(shape)[...] = like
            else:
                _values(target[0], like)[...] = like
                target[0][:64] = 0

        return run


def _values(block, like):
    """The view of an odd block that looks like a plain array."""
    return block[64:].view(like.dtype)[::-1].reshape(like.shape)


def _read(source, like):
    array, layout = source
    return array.reshape(like.shape) if layout.plain else _values(array, like)
