"""The same bits at any budget on the double: swaps on queues, late, order checked.

The nets are those that the other engines train; what leaves is poisoned.
"""

from dataclasses import replace

import pytest

from geeps_caffe.engines.cuda.engine import CudaEngine
from geeps_caffe.schedule.instructions import SwapOut
from geeps_caffe.schedule.recompute import AGAIN
from tests.cuda_double.fixtures import double
from tests.execution import test_budget as budget
from tests.execution import test_planners as planners
from tests.execution.made_up_jobs import parsed_net, read_net, without_data
from tests.execution.test_budget import NETS, place

__all__ = ["double", "place"]

CIFAR10 = "BVLC__caffe/examples/cifar10/cifar10_full_train_test.prototxt"
GOOGLENET = "BVLC__caffe/models/bvlc_googlenet/train_val.prototxt"
LARGE = [
    pytest.param(CIFAR10, 4, {"data": (3, 32, 32)}, id="cifar10_full"),
    pytest.param(GOOGLENET, 1, {}, id="googlenet", marks=pytest.mark.slow),
]

#: A Filter that leaves some of four items, before layers whose tops backward reads.
FILTERED = """
layer { name: "in" type: "DummyData" top: "data" top: "number" dummy_data_param {
  shape { dim: 4 dim: 3 dim: 6 dim: 6 } shape { dim: 4 }
  data_filler { type: "gaussian" } data_filler { type: "uniform" min: -1 max: 1 } } }
layer { name: "some" type: "Threshold" bottom: "number" top: "some" }
layer { name: "few" type: "Filter" bottom: "data" bottom: "some" top: "few" }
""" + "".join(
    f"""layer {{ name: "c{i}" type: "Convolution" bottom: "{bottom}" top: "c{i}"
      convolution_param {{ num_output: 4 kernel_size: 3 pad: 1
        weight_filler {{ type: "xavier" }} }} }}
    layer {{ name: "t{i}" type: "TanH" bottom: "c{i}" top: "t{i}" }}"""
    for i, bottom in enumerate(("few", "t0", "t1", "t2"))
) + """
layer { name: "loss" type: "Reduction" bottom: "t3" top: "loss" loss_weight: 1
  reduction_param { operation: SUMSQ } }
"""  # fmt: skip

#: Between convolutions passes that are cheap beside copies of what they write.
CHEAP = """
layer { name: "in" type: "DummyData" top: "data" top: "label" dummy_data_param {
  shape { dim: 2 dim: 3 dim: 64 dim: 64 } shape { dim: 2 }
  data_filler { type: "gaussian" } data_filler { type: "constant" value: 1 } } }
""" + "".join(
    f"""layer {{ name: "conv{i}" type: "Convolution" bottom: "{bottom}" top: "conv{i}"
      convolution_param {{ num_output: 8 kernel_size: 3 pad: 1
        weight_filler {{ type: "xavier" }} }} }}
    layer {{ name: "relu{i}" type: "ReLU" bottom: "conv{i}" top: "relu{i}" }}
    layer {{ name: "drop{i}" type: "Dropout" bottom: "relu{i}" top: "drop{i}" }}"""
    for i, bottom in enumerate(("data", "drop0", "drop1"))
) + """
layer { name: "ip" type: "InnerProduct" bottom: "drop2" top: "ip"
  inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""  # fmt: skip

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


@pytest.mark.parametrize("make", [planners.lenet, planners.lstm])
def test_gradients_are_clipped_alike_wherever_the_tables_lie(make):
    """On the device, as in the run that this compares with, or in host memory."""
    settings = replace(
        planners.BASE, engine="cuda", param_cache=planners.CACHES["swapped"]
    )
    planners.check_any_budget(make(), settings, 3, (1.3,), "clip_gradients: 0.1")


@pytest.mark.parametrize("more", ["", "debug_info: true display: 1"])
def test_what_a_filter_leaves_is_swapped_with_what_is_not_in_use_behind_it(more):
    source = parsed_net(FILTERED)
    settings = replace(planners.BASE, engine="cuda")
    plans = planners.check_any_budget(source, settings, more=more)
    dynamic = {plans[0].program.arrays[name].storage for name in ("t1", "t2")}
    moved = {e.storage for e in plans[0].instructions if isinstance(e, SwapOut)}
    assert dynamic <= moved


@pytest.mark.parametrize("cache", ["in place", "swapped"])
def test_what_is_computed_again_is_the_same_bits(cache):
    """Masks of dropout too; from the third step on within CUDA graphs."""
    settings = replace(
        planners.BASE, engine="cuda", costs="a100", param_cache=planners.CACHES[cache]
    )
    source, factors = parsed_net(CHEAP), (1.0, 1.15, 1.2, 1.3)
    plans = planners.check_any_budget(source, settings, 4, factors)
    again = [AGAIN in name for plan in plans for name in plan.program.arrays]
    assert any(again)


@pytest.mark.parametrize(("path", "batch", "records"), LARGE)
def test_large_nets_learn_the_same_bits(corpus, path, batch, records):
    source = without_data(read_net(corpus / "zoo" / path), batch, **records)
    settings = replace(planners.BASE, engine="cuda", costs="k20c")
    planners.check_any_budget(source, settings, 1, (1.0, 1.5))
