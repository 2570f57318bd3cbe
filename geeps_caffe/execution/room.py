"""Whether a net has room in the memory of this machine, said before any is taken."""

from geeps_caffe.errors import PlanError
from geeps_caffe.graph.graph import Graph, Node
from geeps_caffe.schedule.instructions import PlannedArray
from geeps_caffe.schedule.program import Program

_NAMED = 3  # arrays that the message names


def check_room(
    graph: Graph, program: Program, room: int | None, arena: int | None = None
) -> None:
    """Refuse a net that needs more memory than there is.

    Args:
        graph: the net.
        program: what a step of it does.
        room: bytes that there are; None if that is not known.
        arena: bytes of its plan's arena; before there is a plan, its largest array
            counts.

    Raises:
        PlanError: it says how much is missing, and which layers' arrays are largest.
    """
    if room is None:
        return
    arrays = {array.storage: array for array in program.arrays.values()}
    sizes = {name: array.layout.nbytes for name, array in arrays.items()}
    planned = [sizes[name] for name, array in arrays.items() if array.home == "arena"]
    apart = sum(sizes[name] for name, array in arrays.items() if array.home != "arena")
    total = apart + (max(planned, default=0) if arena is None else arena)
    if total <= room:
        return
    largest = sorted(arrays.values(), key=lambda array: -array.layout.nbytes)[:_NAMED]
    named = "; ".join(_told(graph, array) for array in largest)
    raise PlanError(
        f"a step needs {_gib(total)} of memory at least, but there are {_gib(room)} "
        f"here. The largest arrays: {named}. Make the batch or these layers smaller"
    )


def _told(graph: Graph, array: PlannedArray) -> str:
    extents = " x ".join(map(str, array.shape))
    node = _owner(graph, array.name)
    where = f" of {node.title}" if node else ""
    return f"{array.name} ({extents}, {_gib(array.layout.nbytes)}){where}"


def _owner(graph: Graph, name: str) -> Node | None:
    """The layer that makes an array: its top, its param, or the gradient of these."""
    base = name.partition("@")[0].rstrip("'").removesuffix(".diff")
    for node in graph.nodes:
        if base in node.tops or base in node.params:
            return node
    return None


def _gib(nbytes: int) -> str:
    return f"{nbytes / 2**30:,.1f} GiB"
