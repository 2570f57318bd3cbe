"""The double is called as CuPy is, and has nothing that CuPy has not."""

import ast
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

import geeps_caffe
from geeps_caffe.device.kernels import OPTIONS, read_source
from tests.cuda_double import arrays
from tests.cuda_double.facts import FILE, check, known
from tests.cuda_double.fixtures import double
from tests.cuda_double.module import make_cupy
from tests.cuda_double.nccl import Communicator
from tests.cuda_double.record import facts

__all__ = ["double"]

SOURCES = sorted(Path(geeps_caffe.__file__).parent.rglob("*.py"))
PLACES = {"Stream": "__init__", "Event": "__init__"}


def found(cupy, name):
    """A function of the double."""
    owner, _, method = name.rpartition(".")
    if name == "RawModule":
        return cupy.RawModule
    if name == "RawModule.compile":
        return cupy.RawModule(code=read_source("activation.cu")).compile
    if name == "RawKernel.__call__":
        module = cupy.RawModule(code=read_source("activation.cu"))
        return module.get_function("tanh_forward")
    if owner == "Stream" and method != "__init__":
        return getattr(cupy.cuda.Stream(), method)
    if owner in ("Stream", "Event", "Graph", "Device"):
        made = getattr(cupy.cuda, owner)
        return made if method == "__init__" else getattr(made, method)
    if owner == "nccl.NcclCommunicator":
        return getattr(Communicator, method)
    place = getattr(cupy.cuda, owner) if owner else cupy.cuda
    return getattr(place, method)


def words(function):
    """Names, and which may be left out."""
    parameters = inspect.signature(function).parameters.values()
    return [
        (p.name, p.kind, p.default is not p.empty)
        for p in parameters
        if p.name != "self"
    ]


@pytest.mark.parametrize("name", known("cuda"))
def test_parts_of_cuda_take_what_cupy_takes(name):
    right, part = known("cuda")[name], found(make_cupy(), name)
    if right is None:  # a library
        assert part is not None
        return
    ours = words(part)
    if name == "RawKernel.__call__":  # CuPy hands the rest on to the launch
        assert ours[:3] == words(_with(right))[:3]
        return
    assert ours == words(_with(right))


def _with(signature):
    def function():
        pass

    function.__signature__ = signature
    return function


def test_arrays_have_nothing_that_those_of_cupy_have_not():
    assert set(arrays.VIEWS + arrays.READERS + arrays.FACTS) <= set(known("array"))


def test_what_cupy_adds_to_the_options_is_among_them_from_the_start():
    """So it is what tests compile with, and what PyCUDA is given."""
    added = known("option")
    assert added and {f"-{option}" for option in added} <= set(OPTIONS)


def chains(tree):
    """The dotted names of a file: ("runtime", "x") for runtime.x."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            parts = []
            while isinstance(node, ast.Attribute):
                parts.append(node.attr)
                node = node.value
            parts.append(node.id if isinstance(node, ast.Name) else "")
            yield parts[::-1]


def used_names():
    """What follows `cupy.cuda.`, and what follows `xp.` or `cupy.`, in the sources."""
    parts, functions = set(), set()
    for path in SOURCES:
        for chain in chains(ast.parse(path.read_text("utf-8"))):
            if "cuda" in chain[:-1] and ("cupy" in chain or "_cupy" in chain):
                parts.add(".".join(chain[chain.index("cuda") + 1 :]))
            elif chain[0] == "xp" or "xp" in chain[:-1]:
                functions.add(chain[chain.index("xp") + 1])
    return parts, functions


def test_each_part_of_cuda_that_the_sources_name_is_written_down():
    parts, _ = used_names()
    cuda = set(known("cuda"))
    owners = {name.split(".")[0] for name in cuda}
    constants = {"runtime.memcpyHostToDevice", "runtime.memcpyDeviceToHost"}
    for name in parts - constants:
        head = name.split(".")[:2]
        assert ".".join(head) in cuda or head[0] in owners | cuda, name
    assert len(parts) > 8


def test_each_function_that_the_sources_name_is_one_of_cupy():
    _, functions = used_names()
    assert not functions & set(known("missing"))
    assert len(functions) > 30


def test_arguments_that_cupy_would_not_take_are_refused(double):
    x = double.ones((2, 3), np.float32)
    with pytest.raises(TypeError):
        double.sum(x, where=x > 0)
    with pytest.raises(TypeError):
        x.max(initial=0)
    with pytest.raises(TypeError, match="where"):
        double.add(x, x, where=x > 0)
    with pytest.raises(AttributeError):
        check("function", "nothing", (), {})


def test_the_facts_are_those_of_the_cupy_that_is_here():
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        pytest.skip("CuPy is not installed")
    lines = FILE.read_text().splitlines()
    if lines[0] != f"version {cupy.__version__}":
        pytest.skip(f"the facts are of another {lines[0]}")
    assert list(facts(cupy)) == lines
