"""Is what a GPU computes right? Every operation, and every recorded case of Caffe."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from geeps_caffe.config.job import RunSettings
from geeps_caffe.device.array import Array
from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.engines.cuda.engine import CudaEngine
from geeps_caffe.engines.engine import Description, Request
from tests.engines.battery import (
    Trial,
    assert_close,
    expected,
    gradients,
    random_arrays,
)
from tests.engines.cases import CASES
from tests.execution import recorded_solvers
from tests.execution.recordings import (
    FOLDER,
    check_recording,
    inside,
    needs_files,
    recorded_cases,
)

#: What is checked; and the check, which says "ok" or what is wrong.
Outcome: TypeAlias = tuple[str, Callable[[], str]]


def operations(engine: CudaEngine, only: str) -> Iterator[Outcome]:
    """Both passes of each case of the battery that all engines pass."""
    for case in CASES:
        if engine.name not in case.declined and only in case.name:
            yield case.name, partial(_outcome, partial(_check, engine, case))


def recordings(engine: CudaEngine, only: str) -> Iterator[Outcome]:
    """Each recorded layer and small net that needs no files beside it."""
    del engine
    for name in recorded_cases():
        if only in name and not needs_files(name):
            yield name, partial(_outcome, partial(_check_recording, name))


def _check_recording(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_recording(FOLDER / name, "cuda", Path(folder))


def solvers(engine: CudaEngine, only: str) -> Iterator[Outcome]:
    """Twenty iterations of each recorded solver."""
    del engine
    for case in recorded_solvers.CASES:
        if only in case:
            yield case, partial(_outcome, partial(_check_solver, case))


def _check_solver(case: str) -> None:
    settings = RunSettings(engine="cuda", seed=1, keep_all=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "solvers"
        shutil.copytree(recorded_solvers.FOLDER, copy)
        with inside(copy):
            recorded_solvers.check_run(case, settings)


def _outcome(check: Callable[[], object]) -> str:
    """A check that fails must not keep the others from being made."""
    try:
        check()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip()[:300]}"
    return "ok"


def _check(engine: CudaEngine, case: Any) -> None:
    arrays = random_arrays(case, np.random.default_rng(1))
    wanted = gradients(case)
    right = expected(case, arrays, wanted)
    ports: dict[str, Array] = {}
    trial = Trial(engine, case)
    forward = trial.forward_request()
    tops = [port for port in case.shapes if port.startswith("top")]
    for request in (forward, _backward(forward, case, wanted)):
        description = engine.describe(request)
        assert description is not None
        _fill(engine.device, request, description, arrays, ports)
        block = engine.device.allocate(description.scratch)
        with engine.device.running():
            engine.bind(request, description, ports, block)()
    for port in [*tops, *wanted]:
        assert_close(engine.device.to_host(ports[port]), right[port], port)


def _backward(request: Request, case: Any, wanted: list[str]) -> Request:
    diffs = [*wanted, *(f"{p}.diff" for p in case.shapes if p.startswith("top"))]
    shapes = {port: case.shapes[port.removesuffix(".diff")] for port in diffs}
    everything = {**case.shapes, **shapes}
    return Request(request.operation, "backward", everything)


def _fill(
    device: CudaDevice,
    request: Request,
    description: Description,
    arrays: dict[str, Array],
    ports: dict[str, Array],
) -> None:
    """Arrays on the device for the ports that have none yet; outputs hold NaN."""
    for i, saved in enumerate(description.saved):
        block = device.allocate(saved.nbytes)
        ports[f"saved{i}"] = block.view(np.dtype(saved.dtype)).reshape(saved.shape)
    for port in description.layouts:
        if port in ports:
            continue
        nothing = np.full(request.shapes[port], np.nan)
        values = arrays.get(port, nothing)
        ports[port] = device.to_device(values.astype(np.float32))
