"""Putting the double in CuPy's place."""

import sys

import pytest

from tests.cuda_double.machine import Machine
from tests.cuda_double.module import make_cupy


@pytest.fixture
def double(monkeypatch):
    """The double as `cupy`, its copies late and its order checked."""
    cupy = make_cupy(Machine(late=True, check=True))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return cupy
