"""What a plan's user may want to know next: how much memory, how large a batch."""

from collections.abc import Iterator
from dataclasses import replace

from geeps_caffe.commands.planning import unbound_net
from geeps_caffe.config.job import RunSettings
from geeps_caffe.errors import InputError
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.nets import NamedNet
from geeps_caffe.execution.plans import Planning, model_of, plan_net
from geeps_caffe.graph.batch import batch_of, with_batch
from geeps_caffe.schedule.curve import memory_without_loss
from geeps_caffe.schedule.plan import Plan, least_of
from geeps_caffe.schedule.simulate import simulate

_MOST = 1 << 16  # records in a batch that are tried


def memory_lines(net: PlannedNet, settings: RunSettings) -> Iterator[str]:
    """The least memory of a net, and the least without loss."""
    least = least_of(net.program)
    yield f"least memory          {least:>15,} bytes"
    found = without_loss(net, settings, least)
    how = (
        f"by the costs of {settings.costs}" if settings.costs else "no more bytes move"
    )
    yield f"memory without loss   {found:>15,} bytes ({how})"


def without_loss(net: PlannedNet, settings: RunSettings, least: int) -> int:
    """The smallest budget that costs no speed; without costs, no bytes."""
    model = model_of(settings)

    def plan_for(budget: int | None) -> Plan:
        planning = Planning(budget, True, model, recompute=False)
        return plan_net(net.program, net.graph, planning)

    def loss_of(plan: Plan) -> float:
        if model is None:
            return float(plan.moved_bytes)
        return simulate(plan, model(plan.program)).seconds

    whole = plan_for(None).arena_bytes
    return memory_without_loss(least, max(whole, least), plan_for, loss_of)


def batch_line(
    named: NamedNet, settings: RunSettings, trains: bool, by_rows: bool = False
) -> str:
    """The largest batch whose plan keeps the budget."""
    assert settings.memory is not None
    now = batch_of(named.source, named.state)
    if now is None:
        return "largest batch         not known: no source layer tells its batch"
    try:
        most = largest_batch(named, settings, trains, by_rows)
    except InputError as error:
        return f"largest batch         not known: with another one, {error}"
    return f"largest batch         {most:>15,} records (now {now:,})"


def largest_batch(
    named: NamedNet, settings: RunSettings, trains: bool, by_rows: bool = False
) -> int:
    """Records in the largest batch that fits; 0 if not even one does.

    Raises:
        InputError: the net can't be built with another batch.
    """
    memory = settings.memory
    assert memory is not None

    def fits(batch: int) -> bool:
        source = with_batch(named.source, named.state, batch)
        other = replace(named, source=source)
        backward = named.state.phase == "TRAIN"
        with unbound_net(
            other, settings, backward=backward, trains=trains, by_rows=by_rows
        ) as net:
            return least_of(net.program) <= memory

    low, high = 0, 1
    while high < _MOST and fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
