import numpy as np
import pytest

import prototxt
from geeps_caffe.caffe import get_solver
from geeps_caffe.config.job import RunSettings
from tests.zoo.gradients import fill
from tests.zoo.nets import NETS, read_whole

SOLVER = """
net: "{net}" base_lr: 0.000001 lr_policy: "fixed" momentum: 0.9 weight_decay: 0.0005
max_iter: 2 random_seed: 1 snapshot_after_train: false
"""


@pytest.mark.parametrize("whole", NETS)
def test_whole_nets_train_alike_on_all_engines(whole, corpus, tmp_path):
    message = read_whole(corpus, whole)
    (tmp_path / "net.prototxt").write_text(prototxt.write_text(message))
    solver = tmp_path / "solver.prototxt"
    solver.write_text(SOLVER.format(net=tmp_path / "net.prototxt"))
    losses = [_losses(str(solver), engine) for engine in ("reference", "onednn")]
    assert np.isfinite(losses).all()
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-3)


def _losses(file, engine):
    """The losses before the first and before the second update."""
    solver = get_solver(file, RunSettings(engine=engine, keep_all=True))
    fill(solver.net, np.random.default_rng(1))
    before = {k: [b.data.copy() for b in v] for k, v in solver.net.params.items()}
    losses = []
    for _ in range(2):
        solver.step(1)
        losses.append(solver.net._net.loss())
    changed = [
        not np.array_equal(old, new.data)
        for name, blobs in solver.net.params.items()
        for old, new in zip(before[name], blobs, strict=True)
    ]
    assert any(changed)
    return losses
