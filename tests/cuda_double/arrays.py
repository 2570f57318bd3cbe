"""Arrays of the double: NumPy's inside, with a pointer, noting who reads and writes.

They are no NumPy arrays: what takes them for some fails here as it would on a GPU.
"""

import weakref
from types import SimpleNamespace

import numpy as np

from tests.cuda_double.facts import check

#: What CuPy's arrays have of NumPy's; all but the first read the values.
VIEWS = ["reshape", "view", "ravel", "transpose", "swapaxes", "squeeze", "diagonal"]
READERS = [
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "astype",
    "clip",
    "copy",
    "cumprod",
    "cumsum",
    "dot",
    "flatten",
    "item",
    "max",
    "mean",
    "min",
    "nonzero",
    "prod",
    "repeat",
    "round",
    "std",
    "sum",
    "take",
    "tolist",
    "trace",
    "var",
]
FACTS = ["dtype", "flags", "itemsize", "nbytes", "ndim", "shape", "size", "strides"]


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """cupy.ndarray, as far as we use it."""

    __slots__ = ("__weakref__", "host", "machine")

    def __init__(self, host, machine):
        self.host, self.machine = host, machine

    def __getattr__(self, name):
        if name in FACTS:
            return getattr(self.host, name)
        if name in VIEWS or name in READERS:
            return self._method(name)
        raise AttributeError(f"'cupy.ndarray' object has no attribute {name!r}")

    def _method(self, name):
        found = getattr(self.host, name)

        def run(*args, **options):
            check("array", name, args, options)
            refuse(self, [*args, *options.values()])
            out = options.get("out")
            if name in READERS:
                reads = [self, *_but(out, (args, options))]
                note(self, reads, [] if out is None else [out], name)
            result = found(*plain(args), **plain(options))
            return own(result, self.machine) if out is None else out

        return run

    @property
    def T(self):
        return DeviceArray(self.host.T, self.machine)

    @property
    def data(self):
        return SimpleNamespace(ptr=self.host.ctypes.data)

    @property
    def __cuda_array_interface__(self):
        return {
            "data": (self.host.ctypes.data, False),
            "shape": self.shape,
            "typestr": self.dtype.str,
            "version": 3,
        }

    def __array__(self, *args, **options):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def get(self, stream=None, order="C", out=None, blocking=True):
        note(self, [self], [], "get")
        self.machine.current[-1].synchronize()
        return np.array(self.host)

    def set(self, arr, stream=None):
        note(self, [], [self], "set")
        self.host[...] = arr

    def fill(self, value):
        self[...] = value

    def __len__(self):
        return len(self.host)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __bool__(self):
        return bool(self.get())

    def __int__(self):
        return int(self.get())

    def __float__(self):
        return float(self.get())

    def __index__(self):
        return int(self.get())

    def __format__(self, spec):
        return format(self.get(), spec)

    def __repr__(self):
        return repr(self.host)

    def __getitem__(self, key):
        parts = key if isinstance(key, tuple) else (key,)
        if not _basic(key):
            note(self, [self, *_arrays(parts)], [], "[]")
        found = self.host[plain(key)]
        return DeviceArray(np.asarray(found), self.machine)

    def __setitem__(self, key, value):
        refuse(self, [value, *(key if isinstance(key, tuple) else [key])])
        target = self.host[key] if _basic(key) else self.host
        target = target if isinstance(target, np.ndarray) else self.host
        place, values = plain(key), plain(value)

        def write():
            self.host[place] = values

        perform(self, list(_arrays((value, key))), [target], "=", write)

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        if method == "__call__" and not set(options) <= {"dtype", "casting", "axis"}:
            raise TypeError(f"a ufunc of CuPy takes no {sorted(options)}")
        refuse(self, inputs)
        outs = out if isinstance(out, tuple) else (out,)
        refuse(self, outs)
        written = [*outs, inputs[0]] if method == "at" else list(outs)
        reads, compute = list(_arrays((inputs, options))), getattr(ufunc, method)
        given = plain(inputs), plain(options)
        if outs:
            given[1]["out"] = tuple(plain(o) for o in outs)
            run = lambda: compute(*given[0], **given[1])  # noqa: E731
            perform(self, reads, written, ufunc.__name__, run)
            return outs[0] if len(outs) == 1 else outs
        note(self, reads, written, ufunc.__name__)
        return own(compute(*given[0], **given[1]), self.machine)

    def __array_function__(self, function, types, args, options):
        refuse(self, [*args, *options.values()])
        target = args[0] if function is np.copyto else options.get("out")
        written = [] if target is None else [target]
        note(self, _but(target, (args, options)), written, function.__name__)
        result = function(*plain(args), **plain(options))
        return own(result, self.machine) if target is None else target


def plain(value):
    """NumPy's arrays, in tuples, lists and dictionaries too."""
    if isinstance(value, DeviceArray):
        return value.host
    if type(value) in (tuple, list):
        return type(value)(plain(v) for v in value)
    if type(value) is dict:
        return {key: plain(v) for key, v in value.items()}
    return value


def own(value, machine):
    """Results as arrays of the double: CuPy has no numbers of its own."""
    if isinstance(value, np.ndarray | np.generic):
        return _made(np.asarray(value), machine)
    if type(value) in (tuple, list) and any(isinstance(v, np.ndarray) for v in value):
        return type(value)(own(v, machine) for v in value)
    return value


def _made(host, machine):
    """A result; what is known of its memory ends with it, as others may take that."""
    if host.base is None and machine.order is not None:
        machine.order.forget([span(host)])
        weakref.finalize(host, machine.order.freed.append, span(host)).atexit = False
    return DeviceArray(host, machine)


def _arrays(value):
    if isinstance(value, DeviceArray):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _arrays(part)
    elif isinstance(value, dict):
        yield from _arrays(list(value.values()))


def _but(target, value):
    """All arrays but the one that is only written."""
    return [a for a in _arrays(value) if a is not target]


def _basic(key):
    parts = key if isinstance(key, tuple) else (key,)
    simple = int | slice | type(...) | np.integer | None
    return all(isinstance(p, simple) for p in parts)


def refuse(array, values):
    """Host arrays beside device arrays are an error in CuPy."""
    for value in values:
        if isinstance(value, tuple | list):
            refuse(array, value)
        elif isinstance(value, np.ndarray) and array.machine.strict:
            raise TypeError("an array of the host meets one of the device")


def span(array):
    """First byte, and the one after the last."""
    return np.lib.array_utils.byte_bounds(plain(array))


def note(array, reads, writes, what):
    """Tell the machine what is about to be done."""
    array.machine.touch(_spans(r for r in reads if _on(r)), _spans(writes), what)


def perform(array, reads, writes, what, run):
    """Do what needs no memory of its own; or have it captured."""
    if not array.machine.capturing:
        note(array, reads, writes, what)
        run()
        return
    spans = _spans(r for r in reads if _on(r)), _spans(writes)
    array.machine.submit(run, *spans, what)


def _on(array):
    return isinstance(array, DeviceArray)


def _spans(some):
    return [span(a) for a in some if isinstance(a, np.ndarray | DeviceArray)]
