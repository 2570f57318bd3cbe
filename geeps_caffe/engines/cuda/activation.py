"""Activation: one kernel each way; a negative alpha saves where x was positive."""

from geeps_caffe.device.kernels import Call
from geeps_caffe.engines.cuda.kit import Entry, Pass

FILE = "activation.cu"
WITH_ALPHA = ("relu", "elu")


def _alpha(work: Pass) -> tuple[float, ...]:
    operation = work.operation
    return (operation.alpha,) if operation.kind in WITH_ALPHA else ()


def forward(work: Pass) -> list[Call]:
    """top0 = f(bottom0)."""
    x, y = work.ports["bottom0"], work.ports["top0"]
    name = f"{work.operation.kind}_forward"
    calls = [work.kernel(FILE, name, x.size, x, y, *_alpha(work))]
    if "saved0" in work.ports:
        signs = work.ports["saved0"]
        calls.insert(0, work.kernel(FILE, "positive", x.size, x, signs))
    return calls


def backward(work: Pass) -> list[Call]:
    """bottom0.diff from top0, or from what was saved."""
    dy, dx = work.ports["top0.diff"], work.ports["bottom0.diff"]
    y, kind = work.ports["top0"], work.operation.kind
    if "saved0" not in work.ports:
        name = f"{kind}_backward"
        return [work.kernel(FILE, name, dx.size, y, dy, dx, *_alpha(work))]
    first = (work.ports["saved0"], y) if kind == "elu" else (work.ports["saved0"],)
    name = f"{kind}_backward_saved"
    return [work.kernel(FILE, name, dx.size, *first, dy, dx, *_alpha(work))]


def _accepts(request: object) -> bool:
    """A mask helps kinds with an alpha alone; others have none to be negative."""
    operation = request.operation  # type: ignore[attr-defined]
    return operation.kind in WITH_ALPHA or operation.alpha >= 0


ENTRY = Entry(forward, backward, accepts=_accepts)
