"""NVIDIA's run-time compiler, by its C interface: source text to a cubin."""

import ctypes
from importlib.util import find_spec
from pathlib import Path

NAME = "libnvrtc.so.13"


def find_library():
    """The library of the wheel nvidia-cuda-nvrtc, or of the system; None without."""
    spec = find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    wheels = [str(Path(root) / "cu13" / "lib" / NAME) for root in roots]
    for path in (*wheels, NAME):
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


def compile_cubin(library, source, options):
    """The machine code.

    Raises:
        ValueError: the compiler's log.
    """
    program = ctypes.c_void_p()
    text = source.encode()
    library.nvrtcCreateProgram(ctypes.byref(program), text, b"kernel.cu", 0, None, None)
    try:
        row = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
        if library.nvrtcCompileProgram(program, len(options), row):
            raise ValueError(_read(library, program, "ProgramLog").decode())
        return _read(library, program, "CUBIN")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _read(library, program, what):
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    content = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, content)
    return content.raw
