"""The update rules against the formulas of their papers, in plain double precision."""

import numpy as np
import pytest

from geeps_caffe.errors import InputError
from geeps_caffe.solvers import RULES, Hyper, Updater, find_rule

HYPER = Hyper(rate=0.1, momentum=0.9, momentum2=0.99, delta=1e-3, rms_decay=0.8)


def definition(name, grad, slots, hyper):
    """What the weights lose and the new history, written as in the papers."""
    rate, m, d = hyper.rate, hyper.momentum, hyper.delta
    h = slots[0]
    if name == "SGD":
        h = m * h + rate * grad
        return h, [h]
    if name == "Nesterov":
        new = m * h + rate * grad
        return (1 + m) * new - m * h, [new]
    if name == "AdaGrad":
        h = h + grad**2
        return rate * grad / (np.sqrt(h) + d), [h]
    if name == "RMSProp":
        h = hyper.rms_decay * h + (1 - hyper.rms_decay) * grad**2
        return rate * grad / (np.sqrt(h) + d), [h]
    if name == "AdaDelta":
        h = m * h + (1 - m) * grad**2
        u = grad * np.sqrt((slots[1] + d) / (h + d))
        return rate * u, [h, m * slots[1] + (1 - m) * u**2]
    t, b = hyper.iteration + 1, hyper.momentum2
    h = m * h + (1 - m) * grad
    v = b * slots[1] + (1 - b) * grad**2
    corrected = rate * np.sqrt(1 - b**t) / (1 - m**t)
    return corrected * h / (np.sqrt(v) + d), [h, v]


@pytest.fixture(params=sorted(RULES))
def rule(request):
    return find_rule(request.param)


def start(rule, rng, size, dtype):
    weights, grad = rng.standard_normal((2, size)).astype(dtype)
    slots = [rng.random(size).astype(dtype) for _ in rule.slots]
    return weights, grad, slots


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_rule_computes_its_formula(rule, rng, dtype):
    weights, grad, slots = start(rule, rng, 50, dtype)
    wide = [s.astype(float) for s in slots]
    lost, wanted = definition(rule.type_name, grad.astype(float), wide, HYPER)
    expected = weights - lost

    Updater(rule, dtype).step(weights, grad, slots, HYPER)

    rtol = 1e-5 if dtype is np.float32 else 1e-13
    np.testing.assert_allclose(weights, expected, rtol, rtol)
    for slot, value in zip(slots, wanted, strict=True):
        np.testing.assert_allclose(slot, value, rtol)


def test_adam_corrects_by_iteration(rng):
    for iteration in (0, 1, 7):
        rule = find_rule("Adam")
        hyper = Hyper(rate=0.1, momentum=0.9, iteration=iteration)
        weights, grad, slots = start(rule, rng, 5, np.float64)
        lost, _ = definition("Adam", grad, [s.copy() for s in slots], hyper)
        expected = weights - lost
        Updater(rule, float).step(weights, grad, slots, hyper)
        np.testing.assert_allclose(weights, expected, 1e-13)


def test_pieces_give_the_same_bits_as_the_whole(rule, rng):
    weights, grad, slots = start(rule, rng, 1000, np.float32)
    copies = weights.copy(), [s.copy() for s in slots]
    decayed = Hyper(rate=0.1, weight_decay=0.01, momentum=0.5)
    Updater(rule, np.float32).step(weights, grad, slots, decayed, scale=0.3)
    Updater(rule, np.float32, chunk_bytes=28).step(
        copies[0], grad, copies[1], decayed, scale=0.3
    )
    np.testing.assert_array_equal(weights, copies[0])
    np.testing.assert_array_equal(slots, copies[1])


def test_padding_stays_zero(rule):
    weights, grad = np.zeros((2, 8), np.float32)
    slots = [np.zeros(8, np.float32) for _ in rule.slots]
    hyper = Hyper(rate=0.1, momentum=0.5, weight_decay=0.1)
    for kind in ("L1", "L2"):
        hyper = Hyper(rate=0.1, weight_decay=0.1, regularization_type=kind)
        Updater(rule, np.float32).step(weights, grad, slots, hyper)
    assert not weights.any()
    assert not np.any(slots)


def test_the_gradient_is_kept(rule, rng):
    weights, grad, slots = start(rule, rng, 20, np.float32)
    before = grad.copy()
    hyper = Hyper(rate=0.1, weight_decay=0.1)
    Updater(rule, np.float32).step(weights, grad, slots, hyper, scale=2.0)
    np.testing.assert_array_equal(grad, before)


def test_a_history_of_tiny_values_is_not_lost(rng):
    rule = find_rule("AdaDelta")
    slots = [np.full(4, 1e-12, np.float32) for _ in rule.slots]
    grad = np.zeros(4, np.float32)
    Updater(rule, np.float32).step(grad.copy(), grad, slots, HYPER)
    np.testing.assert_allclose(slots, 0.9e-12, 1e-6)


@pytest.mark.parametrize("name", ["sgd", "ADAGRAD", "AdaDelta", "rmsprop"])
def test_a_rule_is_found_in_any_case(name):
    assert find_rule(name).type_name.lower() == name.lower()


def test_an_unknown_rule_names_its_neighbour():
    with pytest.raises(InputError, match="'AdamX'; did you mean 'Adam'"):
        find_rule("AdamX")


@pytest.mark.parametrize(
    ("name", "hyper", "message"),
    [
        ("AdaGrad", Hyper(0.1, momentum=0.9), "AdaGrad; remove it"),
        ("RMSProp", Hyper(0.1, momentum=0.9), "RMSProp; remove it"),
        ("RMSProp", Hyper(0.1, rms_decay=1.0), r"rms_decay: 1 is not in \[0, 1\)"),
        ("Adam", Hyper(0.1, momentum=1.0), "momentum: 1 is not"),
        ("Adam", Hyper(0.1, momentum2=1.0), "momentum2: 1 is not"),
    ],
)
def test_values_of_no_use_are_refused(name, hyper, message):
    with pytest.raises(InputError, match=message):
        find_rule(name).check(hyper)
