from dataclasses import replace

import numpy as np
import pytest

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver import Client, LocalStore, Segment, Table
from geeps_caffe.solvers import RULES, Hyper
from tests.paramserver.programs import Program

TABLE = Table(
    "t",
    500,
    segments=(Segment("w", 0, 300, 1.0, 2.0), Segment("b", 320, 100, 2.0, 0.0)),
)
HYPER = Hyper(rate=0.1, momentum=0.5, weight_decay=0.01)


def program(rule="SGD", hyper=HYPER, store=None):
    found = Program(Client(store or LocalStore()), [TABLE], rule=rule, hyper=hyper)
    found.start([np.linspace(-1, 1, TABLE.size, dtype=np.float32)])
    return found


def state(found):
    client = found.client
    return np.array(client.values("t")), np.array(client.history("t"))


def step_in_parts(found, grad, parts):
    """One iteration; these parts are applied ahead of what is handed in."""
    found.client.set_hyper(0.1, 0)
    ((_, lease),) = found.open()
    lease[...] = grad
    for call, (start, update) in parts:
        update[...] = grad[start : start + update.size]
        lease[start : start + update.size] = np.nan  # nobody may look at it
        call()
    found.close()


def bound(found, *spans):
    made = [(first, np.empty(last - first, np.float32)) for first, last in spans]
    return [(found.client.bind_part("t", *part), part) for part in made]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "spans", [[(0, 300)], [(128, 300), (0, 128)], [(64, 128)], [(320, 420), (0, 64)]]
)
def test_a_part_and_the_rest_are_the_whole_update(rule, spans):
    hyper = replace(HYPER, momentum=0.0 if rule in ("AdaGrad", "RMSProp") else 0.5)
    whole, apart = program(rule, hyper), program(rule, hyper)
    parts = bound(apart, *spans)
    rng = np.random.default_rng(1)
    for _ in range(3):
        grad = rng.standard_normal(TABLE.size).astype(np.float32)
        step_in_parts(whole, grad, [])
        step_in_parts(apart, grad, parts)
    for one, other in zip(state(whole), state(apart), strict=True):
        np.testing.assert_array_equal(one, other)


def test_parts_may_differ_from_clock_to_clock():
    whole, apart = program(), program()
    grad = np.ones(TABLE.size, np.float32)
    parts = bound(apart, (0, 100), (100, 300))
    for some in (parts, [], parts[1:]):
        step_in_parts(whole, grad, [])
        step_in_parts(apart, grad, some)
    np.testing.assert_array_equal(state(whole)[0], state(apart)[0])


def test_no_element_is_updated_twice_in_a_clock():
    found = program()
    with pytest.raises(ParameterServerError, match="100 to 150 were updated twice"):
        step_in_parts(
            found, np.ones(500, np.float32), bound(found, (0, 150), (100, 300))
        )


def test_clipping_needs_the_whole_gradient():
    found = program(hyper=Hyper(rate=0.1, clip_gradients=1.0))
    with pytest.raises(ParameterServerError, match="clip_gradients"):
        step_in_parts(found, np.ones(500, np.float32), bound(found, (0, 300)))


class Elsewhere:
    """A store in another process takes whole updates."""

    def __init__(self):
        self.local = LocalStore()

    def __getattr__(self, name):
        if name == "bind_part":
            raise AttributeError(name)
        return getattr(self.local, name)


def test_only_a_store_of_this_process_takes_parts():
    found = program(store=Elsewhere())
    with pytest.raises(ParameterServerError, match="only a single process"):
        bound(found, (0, 300))
