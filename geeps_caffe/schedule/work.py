"""How much an instruction computes, from shapes alone."""

from geeps_caffe.device.array import count
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.operations import (
    Activated,
    Convolution,
    Deconvolution,
    InnerProduct,
)
from geeps_caffe.schedule.instructions import Instruction, SwapIn, SwapOut
from geeps_caffe.schedule.program import Program


def flops(request: Request) -> int:
    """Multiplications and additions of a pass; 0 where memory is what counts.

    Backward takes as much as forward for each gradient that is asked for.
    """
    passes = 1
    if request.direction == "backward":
        passes = sum(f"{port}.diff" in request.shapes for port in ("bottom0", "param0"))
    return 2 * passes * _products(request)


def _products(request: Request) -> int:
    """Products of a forward pass: each weight times how often it is used."""
    weights, operation = request.shapes.get("param0"), request.operation
    if isinstance(operation, Activated):
        operation = operation.operation
    match operation:
        case Convolution() if weights:
            top = request.shapes["top0"]
            return count(weights) * count(top) // max(top[1], 1)
        case Deconvolution() if weights:
            bottom = request.shapes["bottom0"]
            return count(weights) * count(bottom) // max(bottom[1], 1)
        case InnerProduct(axis=axis) if weights:
            return count(weights) * count(request.shapes["bottom0"][:axis])
    return 0


def batch_of(request: Request) -> int:
    """How many records a pass works on."""
    shape = request.shapes.get("bottom0") or request.shapes.get("top0") or (1,)
    return max(shape[0], 1)


def touched_bytes(program: Program, instruction: Instruction) -> int:
    """Bytes that an instruction reads or writes, each array once."""
    if isinstance(instruction, SwapIn | SwapOut):
        return program.storage_bytes()[instruction.storage]
    names = dict.fromkeys(instruction.reads + instruction.writes)
    return sum(program.arrays[name].layout.nbytes for name in names)
