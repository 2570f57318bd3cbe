"""The refusal of a budget: the least one with which all nets of a job can run."""

from collections.abc import Iterable

from geeps_caffe.errors import BudgetError
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.schedule.plan import least_of


def refusal(
    error: BudgetError, nets: Iterable[PlannedNet], staged: int = 0
) -> BudgetError:
    """The refusal of one net's plan as that of the job, whose nets take turns.

    Args:
        error: says which instructions of that net need most.
        nets: all of the job, or the others, compiled.
        staged: bytes that are taken beside the arena, for pictures on a GPU.
    """
    least = max([error.least, *(least_of(net.program) for net in nets)])
    notes = []
    if least > error.least:
        notes.append("another net of the job needs them")
    if staged:
        notes.append(f"{staged:,} of them for pictures that wait on the GPU")
    note = f" ({'; '.join(notes)})" if notes else ""
    return BudgetError(error.budget + staged, error.reasons, least + staged, note)
