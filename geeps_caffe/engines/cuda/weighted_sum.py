"""Sum: the first two bottoms in one pass, then one for each further."""

from geeps_caffe.device.kernels import Call
from geeps_caffe.engines.cuda.kit import Entry, Pass

FILE = "weighted_sum.cu"


def forward(work: Pass) -> list[Call]:
    """top0 = the sum of coefficient times bottom."""
    y, factors = work.ports["top0"], work.operation.coefficients
    xs = [work.ports[f"bottom{i}"] for i in range(len(factors))]
    if len(xs) == 1:
        return [work.kernel(FILE, "scaled_copy", y.size, xs[0], y, factors[0])]
    args = (xs[0], xs[1], y, factors[0], factors[1])
    calls = [work.kernel(FILE, "scaled_pair", y.size, *args)]
    for x, factor in zip(xs[2:], factors[2:], strict=True):
        calls.append(work.kernel(FILE, "scaled_add", y.size, x, y, factor))
    return calls


def backward(work: Pass) -> list[Call]:
    """Each bottom's diff is the top's times its coefficient."""
    dy = work.ports["top0.diff"]
    return [
        work.kernel(FILE, "scaled_copy", dy.size, dy, work.ports[port], factor)
        for i, factor in enumerate(work.operation.coefficients)
        if (port := f"bottom{i}.diff") in work.ports
    ]


ENTRY = Entry(forward, backward)
