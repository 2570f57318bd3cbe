"""What instructions and copies cost: seconds, measured or from a device table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from geeps_caffe.errors import UsageError, unknown
from geeps_caffe.schedule.instructions import (
    Clock,
    Compute,
    Instruction,
    Load,
    ParamParts,
    Table,
)
from geeps_caffe.schedule.program import Program
from geeps_caffe.schedule.work import batch_of, flops, touched_bytes


@dataclass(frozen=True)
class Device:
    """A device as costs see it.

    `batch_overhead` is how many records more a batch costs than it has: large products
    of few records run slower than their count says.
    """

    title: str
    flops: float  # per second, as real nets reach them
    memory: float  # bytes per second of the device's memory
    copy_in: float  # bytes per second from pinned host memory
    copy_out: float
    launch: float  # seconds that each pass costs besides
    copy_launch: float = 10e-6  # seconds that each copy costs besides
    batch_overhead: float = 0.0
    overlap: bool = True  # whether copies run beside computing


#: Known devices. K20c: see docs/memory-planning.md for where its figures are from;
#: the others are vendors' peaks times what large products and copies commonly reach.
DEVICES: dict[str, Device] = {
    "k20c": Device(
        "Tesla K20c, PCIe 2.0",
        flops=1.300e12,
        memory=150e9,
        copy_in=6e9,
        copy_out=6e9,
        launch=20e-6,
        batch_overhead=52.0,
    ),
    "a100": Device("A100, PCIe 4.0", 14e12, 1.3e12, 24e9, 24e9, 5e-6),
    "h200": Device("H200, PCIe 5.0", 45e12, 4.0e12, 50e9, 50e9, 5e-6),
    "cpu": Device(
        "a host that copies itself", 150e9, 15e9, 8e9, 8e9, 5e-6, 1e-6, overlap=False
    ),
}


@dataclass(frozen=True)
class Costs:
    """Seconds of a program's instructions, and how fast copies are."""

    seconds: tuple[float, ...]  # by position in the program
    copy_in: float  # bytes per second
    copy_out: float
    copy_launch: float = 0.0  # seconds of each copy besides
    overlap: bool = True

    def in_seconds(self, nbytes: int) -> float:
        """The time of a copy to the device."""
        return self.copy_launch + nbytes / self.copy_in

    def out_seconds(self, nbytes: int) -> float:
        """The time of a copy to the host."""
        return self.copy_launch + nbytes / self.copy_out


#: How a program's costs are found: by a device, or by measurement.
CostModel: TypeAlias = Callable[[Program], Costs]


def find_device(name: str) -> Device:
    """A device of the table.

    Raises:
        UsageError: there is no such device.
    """
    if name not in DEVICES:
        raise UsageError(unknown("device", name, DEVICES))
    return DEVICES[name]


def estimate(program: Program, device: Device) -> Costs:
    """Costs from shapes and a device's figures."""
    seconds = tuple(_seconds(program, i, device) for i in program.instructions)
    return Costs(
        seconds, device.copy_in, device.copy_out, device.copy_launch, device.overlap
    )


def _seconds(program: Program, instruction: Instruction, device: Device) -> float:
    """What an operation computes and what it moves, as if nothing overlapped.

    Host work is not counted: sources read ahead, tables are pushed in the background.
    """
    if isinstance(instruction, Load | Table | Clock):
        return 0.0
    moving = touched_bytes(program, instruction) / device.memory
    return device.launch + moving + _computing(instruction, device)


def _computing(instruction: Instruction, device: Device) -> float:
    if not isinstance(instruction, Compute | ParamParts):
        return 0.0
    request = instruction.request
    if request is None:
        return 0.0
    times = instruction.parts if isinstance(instruction, ParamParts) else 1
    larger = 1 + device.batch_overhead / batch_of(request)
    return times * flops(request) * larger / device.flops
