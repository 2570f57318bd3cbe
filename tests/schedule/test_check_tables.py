"""Updates of some rows at a time: good plans are spoilt in one point."""

from dataclasses import replace

import pytest

from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.instructions import Compute, Table, UpdateRows
from geeps_caffe.schedule.plan import make_plan
from tests.schedule.passes.test_rows import NET, program


@pytest.fixture(scope="module")
def found():
    return program(NET)


def faults(found, order):
    """Of the program with its instructions in another order."""
    entries = [found.instructions[i] for i in order]
    owners = [found.owners[i] for i in order]
    return " ".join(
        check_plan(make_plan(replace(found, instructions=entries, owners=owners)))
    )


def moved(found, kind, behind, **fields):
    """The order with the update of b's rows behind, or before, another instruction."""
    order = list(range(len(found.instructions)))
    (rows,) = (i for i in order if isinstance(found.instructions[i], UpdateRows))
    other = next(
        i
        for i in reversed(order)
        if isinstance(found.instructions[i], kind)
        and all(getattr(found.instructions[i], k) == v for k, v in fields.items())
    )
    order.remove(rows)
    order.insert(order.index(other) + behind, rows)
    return order


def test_rows_are_updated_before_their_table_is_handed_in(found):
    order = moved(found, Table, 1, call="update", table="b")
    assert "without a pre_update of 'b'" in faults(found, order)


def test_rows_are_not_updated_while_they_are_read(found):
    order = moved(found, Table, 0, call="post_read", table="b")
    assert "while there is a lease on 'b'" in faults(found, order)


def test_rows_are_not_read_any_more_once_they_are_updated(found):
    order = moved(found, Compute, 0, name="b", direction="backward")
    assert "uses 'b/0' after its update" in faults(found, order)
