"""How much memory the process of a job takes, arenas and all else, before it runs."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field

from geeps_caffe.commands.planning import on_gpu, staged_bytes
from geeps_caffe.device.array import count
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.layers.source import SourceLayer
from geeps_caffe.schedule.instructions import Compute
from geeps_caffe.schedule.plan import Plan

#: The interpreter and libraries; objects of an instruction; what oneDNN makes for each
#: operation and shape, once for equal ones. Measured on CPUs with AVX-512 for twenty
#: nets of 52 to 1,903 instructions: with them all but one are within 4 %.
_PROGRAM, _INSTRUCTION, _KERNEL = 75 << 20, 18 << 10, 204 << 10


@dataclass
class Footprint:
    """Adds up the nets of a job.

    `slots` are the arrays of history that the solver's rule has for each param, `turns`
    says whether all nets lie in one arena.
    """

    slots: int = 0
    turns: bool = False
    arenas: list[int] = field(default_factory=list)
    instructions: int = 0
    kernels: set[Hashable] = field(default_factory=set)
    params: dict[str, int] = field(default_factory=dict)
    learned: dict[str, int] = field(default_factory=dict)
    gradients: int = 0
    ahead: int = 0
    staged: int = 0

    def add(self, net: PlannedNet, plan: Plan) -> None:
        """Count a net; params of one name are shared with the nets before."""
        program = plan.program
        self.arenas.append(plan.arena_bytes)
        self.instructions += len(plan.instructions)
        self.kernels.update(_kernels(plan))
        for key, name in program.params.items():
            array = program.arrays[name]
            self.params.setdefault(key, array.layout.nbytes)
            if key in program.tables:
                self.learned.setdefault(key, array.layout.nbytes)
        self.gradients += sum(
            a.layout.nbytes for a in program.arrays.values() if a.home == "gradient"
        )
        self.ahead += sum(_buffers(net))
        self.staged += staged_bytes(net)

    def lines(self) -> Iterator[str]:
        """A table, its sum at the end."""
        arenas = max(self.arenas) if self.turns else sum(self.arenas)
        program = _PROGRAM + _INSTRUCTION * self.instructions
        rows: Mapping[str, int] = {
            "arenas": arenas,
            "params": sum(self.params.values()),
            "their gradients": self.gradients,
            "their history": self.slots * sum(self.learned.values()),
            "batches read ahead": self.ahead,
            "pictures on the GPU": self.staged,
            "the program, about": program + _KERNEL * len(self.kernels),
        }
        for title, nbytes in rows.items():
            if nbytes:
                yield f"{title:<21}{nbytes:>16,} bytes"
        yield f"{'the process, about':<21}{sum(rows.values()):>16,} bytes"


def _kernels(plan: Plan) -> Iterator[Hashable]:
    """What the engine makes code for, by all that it depends on."""
    for instruction in plan.instructions:
        if isinstance(instruction, Compute) and instruction.description is not None:
            request = instruction.request
            assert request is not None
            shapes = frozenset(request.shapes.items())
            yield request.operation, request.direction, shapes


def _buffers(net: PlannedNet) -> Iterator[int]:
    """Bytes of the batches that each source of records has in memory."""
    for node in net.graph.nodes:
        if isinstance(node.layer, SourceLayer):
            tops = [net.graph.values[top].shape for top in node.tops]
            packed = node.layer.packed_bytes(tops) if on_gpu(net) else 0
            batch = packed or sum(4 * count(shape) for shape in tops)
            yield batch * node.layer.reader.buffers
