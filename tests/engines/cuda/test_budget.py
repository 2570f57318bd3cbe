"""The same bits at any budget on the double: swaps on queues, late, order checked.

The nets are those that the other engines train; what leaves is poisoned.
"""

from dataclasses import replace

import pytest

from geeps_caffe.engines.cuda.engine import CudaEngine
from tests.cuda_double.fixtures import double
from tests.execution import test_budget as budget
from tests.execution import test_planners as planners
from tests.execution.made_up_jobs import read_net, without_data
from tests.execution.test_budget import NETS, place

__all__ = ["double", "place"]

CIFAR10 = "BVLC__caffe/examples/cifar10/cifar10_full_train_test.prototxt"
GOOGLENET = "BVLC__caffe/models/bvlc_googlenet/train_val.prototxt"
LARGE = [
    pytest.param(CIFAR10, 4, {"data": (3, 32, 32)}, id="cifar10_full"),
    pytest.param(GOOGLENET, 1, {}, id="googlenet", marks=pytest.mark.slow),
]

pytestmark = pytest.mark.usefixtures("double")


@pytest.mark.parametrize("keep_all", [False, True], ids=["lean", "by hand"])
@pytest.mark.parametrize("name", NETS)
def test_training_gives_the_same_bits_at_any_budget(name, keep_all):
    engine = CudaEngine()
    budget.test_training_gives_the_same_bits_at_any_budget(name, keep_all, engine)


@pytest.mark.parametrize("case", ["SGD__shared_params", "Adam__mults_wdL2"])
def test_solvers_end_at_the_same_weights_at_any_budget(case, place):
    budget.test_solvers_end_at_the_same_weights_at_any_budget(case, "cuda", place)


@pytest.mark.parametrize("cache", planners.CACHES)
@pytest.mark.parametrize("costs", ["", "k20c"])
@pytest.mark.parametrize("make", [planners.lenet, planners.lstm])
def test_no_plan_changes_a_bit(make, cache, costs):
    cache = planners.CACHES[cache]
    settings = replace(planners.BASE, engine="cuda", param_cache=cache, costs=costs)
    plans = planners.check_any_budget(make(), settings, 2)
    assert plans[0].moved_bytes > 0


@pytest.mark.parametrize(("path", "batch", "records"), LARGE)
def test_large_nets_learn_the_same_bits(corpus, path, batch, records):
    source = without_data(read_net(corpus / "zoo" / path), batch, **records)
    settings = replace(planners.BASE, engine="cuda", costs="k20c")
    planners.check_any_budget(source, settings, 1, (1.0, 1.5))
