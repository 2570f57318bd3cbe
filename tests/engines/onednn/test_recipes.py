from dataclasses import replace

import numpy as np
import pytest

from geeps_caffe.device.array import allocate
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.recipes import Recipes
from geeps_caffe.engines.onednn.threads import set_openmp_threads
from geeps_caffe.engines.operations import BatchNorm, InnerProduct, ScaledBatchNorm


def product(records):
    shapes = {"bottom0": (records, 32), "param0": (48, 32), "top0": (records, 48)}
    return Request(InnerProduct(1, False, False), "forward", shapes)


@pytest.fixture
def recipes(engine):
    return Recipes(engine.kit, most=2)


def test_what_was_made_for_a_request_is_found_for_its_equal(recipes):
    made = recipes.find(product(8))
    assert made is recipes.find(product(8))
    again = product(8)
    reversed_ports = dict(reversed(again.shapes.items()))
    assert made is recipes.find(replace(again, shapes=reversed_ports))


NORMALIZE = BatchNorm(global_stats=False, fraction=0.9, eps=1e-5)
RECTIFIED = ScaledBatchNorm(NORMALIZE, bias=True, relu=True)
STATISTICS = {"param0": (3,), "param1": (3,), "param2": (1,)}
SCALES = {"param3": (3,), "param4": (3,)}


@pytest.mark.parametrize(
    ("operation", "params"),
    [(NORMALIZE, STATISTICS), (RECTIFIED, STATISTICS | SCALES)],
)
def test_calls_of_one_recipe_share_nothing_that_they_write(recipes, operation, params):
    """Layers that are alike may run abreast, in nets of two threads."""
    shapes = {"bottom0": (4, 3, 5, 5), "top0": (4, 3, 5, 5)} | params
    request = Request(operation, "forward", shapes, training=False)
    recipe, seen = recipes.find(request), []
    recipe.host(seen.append)
    for _ in range(2):
        found = recipes.describe(request)
        arrays = {port: np.zeros(s, np.float32) for port, s in shapes.items()}
        scratch = allocate(found.scratch) if found.scratch else None
        recipes.bind(request, found, arrays, scratch)()
    first, second = seen
    for name in first:
        if name not in recipe.constants:
            assert not np.shares_memory(first[name], second[name]), name
    assert "mean" in first and "mean" not in recipe.constants


def test_requests_that_differ_have_recipes_of_their_own(recipes):
    first = product(8)
    made = recipes.find(first)
    turned = {**first.shapes, "param0": (32, 48)}
    for other in (
        replace(first, training=False),
        replace(first, given={"param0": made.layouts["param0"]}),
        replace(first, operation=InnerProduct(1, False, True), shapes=turned),
    ):
        assert recipes.find(other) is not made


def test_the_code_for_another_number_of_threads_is_another(engine, recipes):
    made = recipes.find(product(8))
    set_openmp_threads(engine.kit.api.library, 1)
    try:
        assert recipes.find(product(8)) is not made
    finally:
        set_openmp_threads(engine.kit.api.library, engine.threads)
    assert recipes.find(product(8)) is made


def test_what_was_asked_for_longest_ago_is_given_up_first(recipes):
    first, second = recipes.find(product(8)), recipes.find(product(16))
    assert recipes.find(product(8)) is first  # so 16 is the older one
    recipes.find(product(24))
    assert recipes.find(product(8)) is first
    assert recipes.find(product(16)) is not second
