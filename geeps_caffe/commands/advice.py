"""What a plan's user may want to know next: how much memory, how large a batch."""

from collections.abc import Iterator
from dataclasses import replace

from geeps_caffe.commands.planning import staged_bytes, unbound_net
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
    """The least memory of a net, and the least without loss.

    With the pictures that wait on a GPU, as -memory counts them.
    """
    least, staged = least_of(net.program), staged_bytes(net)
    yield f"least memory          {least + staged:>15,} bytes"
    found = without_loss(net, settings, least) + staged
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


def batch_line(net: PlannedNet, named: NamedNet, settings: RunSettings) -> str:
    """The largest batch whose plan keeps the budget; `net` is made of `named`."""
    now = batch_of(named.source, named.state)
    if now is None:
        return "largest batch         not known: no source layer tells its batch"
    try:
        most = largest_batch(net, named, settings)
    except InputError as error:
        return f"largest batch         not known: with another one, {error}"
    return f"largest batch         {most:>15,} records (now {now:,})"


def largest_batch(net: PlannedNet, named: NamedNet, settings: RunSettings) -> int:
    """Records in the largest batch that fits; 0 if not even one does.

    Raises:
        InputError: the net can't be built with another batch.
    """
    assert settings.memory is not None
    room, options = settings.memory + staged_bytes(net), net.options
    cache, without = options.param_cache, tuple(options.without)
    settings = replace(settings, param_cache=cache, without=without)

    def fits(batch: int) -> bool:
        source = with_batch(named.source, named.state, batch)
        with unbound_net(
            replace(named, source=source),
            settings,
            backward=named.state.phase == "TRAIN",
            trains=bool(net.table_of),
            bodies=1 + options.accumulate,
            by_rows=options.by_rows,
        ) as other:
            return least_of(other.program) + staged_bytes(other) <= room

    low, high = 0, 1
    while high < _MOST and fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
