import numpy as np
import pytest

from geeps_caffe.engines.engine import Engine
from geeps_caffe.engines.onednn.engine import OneDnnEngine
from geeps_caffe.engines.onednn.library import OneDnnMissing
from geeps_caffe.engines.reference.engine import ReferenceEngine
from geeps_caffe.paramserver import Client, LocalStore, Segment, Table
from geeps_caffe.solvers import Hyper

TABLE = Table(
    "t",
    70000,
    segments=(
        Segment("w", 0, 60000),
        Segment("b", 60032, 5000, lr_mult=2.0, decay_mult=0.0),
        Segment("frozen", 65056, 900, lr_mult=0.0),
    ),
)


@pytest.fixture(scope="module")
def engine() -> Engine:
    try:
        return OneDnnEngine(2)
    except OneDnnMissing as missing:
        pytest.skip(str(missing))


def train(bind, hyper, rule="SGD"):
    """Weights and history after three steps."""
    client = Client(LocalStore(bind))
    client.create_tables([TABLE], rule, "mean", hyper)
    client.begin_virtual_iteration()
    read, update = client.virtual_read("t"), client.virtual_pre_update("t")
    send, done = client.virtual_update(update), client.virtual_post_read(read)
    client.virtual_clock()
    client.finish_virtual_iteration()
    rng = np.random.default_rng(3)
    client.assign("t", rng.standard_normal(TABLE.size).astype(np.float32))
    client.start_iterations()
    for step in range(3):
        client.set_hyper(0.1 / (1 + step), step)
        client.read(read)
        grad = client.pre_update(update)
        grad[...] = rng.standard_normal(grad.size)
        grad[65056:] = np.nan
        client.update(send)
        client.post_read(done)
        client.clock()
    return np.array(client.values("t")), np.array(client.history("t"))


@pytest.mark.parametrize(
    ("rule", "hyper"),
    [
        ("SGD", Hyper(0.1, momentum=0.9, weight_decay=0.01)),
        ("SGD", Hyper(0.1)),
        ("SGD", Hyper(0.1, momentum=0.5, weight_decay=0.1, regularization_type="L1")),
        ("SGD", Hyper(0.1, momentum=0.9, clip_gradients=3.0, iter_size=4)),
        ("Nesterov", Hyper(0.1, momentum=0.9)),
    ],
)
def test_an_engine_updates_as_numpy_does(engine, rule, hyper):
    plain = train(None, hyper, rule)
    for found in (engine, ReferenceEngine()):
        own = train(found.bind_momentum, hyper, rule)
        for mine, theirs in zip(own, plain, strict=True):
            np.testing.assert_array_equal(mine, theirs)  # a small net: to the bit
