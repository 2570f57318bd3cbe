"""MaxPooling and AveragePooling over up to three spatial axes."""

from geeps_caffe.device.array import Array, Shape, count
from geeps_caffe.device.kernels import Call
from geeps_caffe.engines.cuda.kit import Entry, Pass, windows_table
from geeps_caffe.engines.engine import Request

MAX, AVERAGE = "max_pooling.cu", "average_pooling.cu"
MOST_AXES = 3


def accepts(request: Request) -> bool:
    """Kernels have one to three spatial axes, and index a plane with 32 bits."""
    axes = len(request.operation.kernel)  # type: ignore[union-attr]
    shapes = request.shapes.values()
    return 1 <= axes <= MOST_AXES and all(count(s[-axes:]) < 1 << 31 for s in shapes)


def _windows(work: Pass, image: Shape, out: Shape) -> Array:
    op = work.operation
    axes = len(op.kernel)
    once = (1,) * axes
    parts = (op.kernel, op.stride, op.pad, once, image[-axes:], out[-axes:])
    return work.kit.constant(windows_table(list(zip(*parts, strict=True))))


def forward_max(work: Pass) -> list[Call]:
    """top0, its indices, and top1 where there is one."""
    x, y = work.ports["bottom0"], work.ports["top0"]
    winner = work.ports.get("saved0")
    if winner is None:
        winner = work.workspace(0, y.size).view("int32")
    windows = _windows(work, x.shape, y.shape)
    calls = [work.kernel(MAX, "max_pooling_forward", y.size, x, y, winner, windows)]
    if "top1" in work.ports:
        index = work.ports["top1"]
        calls.append(work.kernel(MAX, "winners_as_floats", y.size, winner, index))
    return calls


def backward_max(work: Pass) -> list[Call]:
    """Each top diff goes to the pixel that won."""
    dy, dx = work.ports["top0.diff"], work.ports["bottom0.diff"]
    args = (dy, work.ports["saved0"], dx, _windows(work, dx.shape, dy.shape))
    return [work.kernel(MAX, "max_pooling_backward", dx.size, *args)]


def _scratch_max(request: Request) -> int:
    """Winners that nobody keeps."""
    keeps = request.training or request.direction == "backward"
    return 0 if keeps else 4 * count(request.shapes["top0"])


def forward_average(work: Pass) -> list[Call]:
    """The means of the windows."""
    x, y = work.ports["bottom0"], work.ports["top0"]
    windows = _windows(work, x.shape, y.shape)
    return [work.kernel(AVERAGE, "average_pooling_forward", y.size, x, y, windows)]


def backward_average(work: Pass) -> list[Call]:
    """Each pixel gets its share of its windows' diffs."""
    dy, dx = work.ports["top0.diff"], work.ports["bottom0.diff"]
    windows = _windows(work, dx.shape, dy.shape)
    return [work.kernel(AVERAGE, "average_pooling_backward", dx.size, dy, dx, windows)]


MAX_ENTRY = Entry(forward_max, backward_max, _scratch_max, accepts)
AVERAGE_ENTRY = Entry(forward_average, backward_average, accepts=accepts)
