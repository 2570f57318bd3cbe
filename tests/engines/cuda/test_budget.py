"""The same bits at any budget on the double: swaps on queues, late, order checked.

The nets are those that the other engines train; what leaves is poisoned.
"""

import pytest

from geeps_caffe.engines.cuda.engine import CudaEngine
from tests.cuda_double.fixtures import double
from tests.execution import test_budget as budget
from tests.execution.test_budget import NETS, place

__all__ = ["double", "place"]

pytestmark = pytest.mark.usefixtures("double")


@pytest.mark.parametrize("keep_all", [False, True], ids=["lean", "by hand"])
@pytest.mark.parametrize("name", NETS)
def test_training_gives_the_same_bits_at_any_budget(name, keep_all):
    engine = CudaEngine()
    budget.test_training_gives_the_same_bits_at_any_budget(name, keep_all, engine)


@pytest.mark.parametrize("case", ["SGD__shared_params", "Adam__mults_wdL2"])
def test_solvers_end_at_the_same_weights_at_any_budget(case, place):
    budget.test_solvers_end_at_the_same_weights_at_any_budget(case, "cuda", place)
