"""Every recorded solver run of the real Caffe, replayed on the rules alone."""

import numpy as np
import pytest

from geeps_caffe.solvers import (
    Updater,
    clip,
    current_step,
    find_rule,
    learning_rate,
    normalization,
    read_hyper,
    sum_of_squares,
)
from tests.conftest import GOLDEN
from tests.solvers.golden_net import Records, forward_backward, multipliers
from tests.solvers.settings import read_solver

FOLDER = GOLDEN / "solvers"
RUNS = sorted(p.parent.name for p in FOLDER.glob("*/result.npz"))
REPLAYED = [r for r in RUNS if r != "SGD__shared_params"]  # another net
BLOBS = ("conv/0", "conv/1", "ip/0", "ip/1")


class Replay:
    """One recorded run: weights, history and the settings that change them."""

    def __init__(self, name):
        self.recorded = np.load(FOLDER / name / "result.npz")
        self.solver = read_solver(str(self.recorded["solver_prototxt"]))
        self.mults = multipliers(str(self.recorded["net_prototxt"]))
        self.params = [self.recorded[f"weights/0/{b}"].copy() for b in BLOBS]
        self.updater = Updater(find_rule(self.solver.type), np.float32)
        slots = range(len(self.updater.rule.slots))
        self.history = [[np.zeros_like(p) for p in self.params] for _ in slots]
        self.records = Records(FOLDER)

    def gradient(self):
        """Summed over iter_size, and the losses."""
        total, losses = [np.zeros(p.shape) for p in self.params], []
        for _ in range(self.solver.iter_size):
            loss, grads = forward_backward(self.params, *self.records.batch())
            losses.append(loss)
            for t, g in zip(total, grads, strict=True):
                t += g
        return [t.astype(np.float32).ravel() for t in total], losses

    def iterate(self, iteration):
        rate = learning_rate(self.solver, iteration)
        hyper = read_hyper(self.solver, rate, iteration)
        grads, losses = self.gradient()
        clipped = clip(hyper, map(sum_of_squares, grads)) if hyper.clips else None
        scale = normalization(hyper, clipped)
        for i, (param, grad) in enumerate(zip(self.params, grads, strict=True)):
            slots = [h[i].reshape(-1) for h in self.history]
            local = hyper.local(*self.mults[i])
            self.updater.step(param.reshape(-1), grad, slots, local, scale)
        return losses


@pytest.mark.parametrize("name", REPLAYED)
def test_the_recorded_weights_history_and_losses_come_out(name):
    replay = Replay(name)
    recorded, losses = replay.recorded, []
    for iteration in range(20):
        losses.append(replay.iterate(iteration))
        if iteration == 9:
            flat = [h for slot in replay.history for h in slot]
            for i, history in enumerate(flat):
                wanted = recorded[f"history/10/{i}"]
                np.testing.assert_allclose(history, wanted, 1e-3, 1e-6)
            assert f"history/10/{len(flat)}" not in recorded
        for blob, param in zip(BLOBS, replay.params, strict=True):
            if f"weights/{iteration + 1}/{blob}" in recorded:
                wanted = recorded[f"weights/{iteration + 1}/{blob}"]
                np.testing.assert_allclose(param, wanted, 1e-4, 1e-5)
    np.testing.assert_allclose(losses, recorded["losses"], 1e-4, 1e-5)


@pytest.mark.parametrize("name", RUNS)
def test_the_recorded_rates_come_out_to_the_last_bit(name):
    recorded = np.load(FOLDER / name / "result.npz")
    solver = read_solver(str(recorded["solver_prototxt"]))
    rates = [learning_rate(solver, i) for i in range(20)]
    np.testing.assert_array_equal(np.float32(rates), recorded["lr"])


@pytest.mark.parametrize("name", RUNS)
def test_the_recorded_step_is_that_of_the_last_rate(name):
    recorded = np.load(FOLDER / name / "result.npz")
    solver = read_solver(str(recorded["solver_prototxt"]))
    done = int(recorded["state/iter"])
    assert current_step(solver, done - 1) == recorded["state/current_step"]
