"""Arrays of the double: NumPy's, with a pointer, noting who reads and writes them."""

from types import SimpleNamespace

import numpy as np


class DeviceArray(np.ndarray):
    """cupy.ndarray, as far as we use it."""

    machine = None

    def __array_finalize__(self, source):
        self.machine = getattr(source, "machine", None)

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    @property
    def __cuda_array_interface__(self):
        return {"data": (self.ctypes.data, False), "shape": self.shape, "version": 3}

    def get(self, out=None):
        note(self, [self], [], "get")
        if self.machine is not None:
            self.machine.current[-1].synchronize()
        return np.array(plain(self))

    def set(self, host):
        note(self, [], [self], "set")
        plain(self)[...] = host

    def __setitem__(self, key, value):
        refuse(self, [value, *(key if isinstance(key, tuple) else [key])])
        values = [value] if isinstance(value, DeviceArray) else []
        target = plain(self)[key] if _basic(key) else plain(self)
        note(self, values, [target] if isinstance(target, np.ndarray) else [self], "=")
        plain(self)[plain(key)] = plain(value)

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        refuse(self, inputs)
        outs = out if isinstance(out, tuple) else (out,)
        written = [*outs, inputs[0]] if method == "at" else list(outs)
        note(self, inputs, written, ufunc.__name__)
        if outs:
            options["out"] = tuple(plain(o) for o in outs)
        if "where" in options:
            options["where"] = plain(options["where"])
        result = getattr(ufunc, method)(*map(plain, inputs), **options)
        if outs:
            return outs[0] if len(outs) == 1 else outs
        return own(result, self.machine)

    def __array_function__(self, function, types, args, options):
        refuse(self, [*args, *options.values()])
        reads = list(_arrays((args, options)))
        target = options.get("out")
        target = args[0] if function is np.copyto else target
        note(self, reads, [] if target is None else [target], function.__name__)
        result = function(*plain(args), **plain(options))
        return (
            result
            if target is None and function is np.copyto
            else (
                own(result, self.machine)
                if options.get("out") is None
                else options["out"]
            )
        )


def plain(value):
    """NumPy's view of arrays, in tuples, lists and dictionaries too."""
    if isinstance(value, DeviceArray):
        return value.view(np.ndarray)
    if type(value) in (tuple, list):
        return type(value)(plain(v) for v in value)
    if type(value) is dict:
        return {key: plain(v) for key, v in value.items()}
    return value


def own(value, machine):
    """Results as arrays of the double."""
    if type(value) is np.ndarray:
        value = value.view(DeviceArray)
        value.machine = machine
    elif type(value) in (tuple, list):
        return type(value)(own(v, machine) for v in value)
    return value


def _arrays(value):
    if isinstance(value, DeviceArray):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _arrays(part)
    elif isinstance(value, dict):
        yield from _arrays(list(value.values()))


def _basic(key):
    parts = key if isinstance(key, tuple) else (key,)
    return all(isinstance(p, int | slice | type(...) | np.integer) for p in parts)


def refuse(array, values):
    """Host arrays beside device arrays are an error in CuPy, and here if `strict`."""
    if array.machine is not None and array.machine.strict:
        for value in values:
            if type(value) is np.ndarray and value.ndim:
                raise TypeError("an array of the host meets one of the device")


def span(array):
    """First byte, and the one after the last."""
    return np.lib.array_utils.byte_bounds(plain(array))


def note(array, reads, writes, what):
    """Tell the machine, if it wants to know."""
    if array.machine is not None:
        machine = array.machine
        spans = [
            [span(a) for a in some if isinstance(a, np.ndarray)]
            for some in ([r for r in reads if isinstance(r, DeviceArray)], writes)
        ]
        machine.touch(*spans, what)
