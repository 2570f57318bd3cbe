import pytest

from geeps_caffe.config.param_cache import ParamCache, parse_param_cache
from geeps_caffe.errors import UsageError


@pytest.mark.parametrize("text", ["", "off"])
def test_without_one_leases_are_used_in_place(text):
    assert parse_param_cache(text) is None


def test_a_placement_is_for_all_tables_or_for_one():
    cache = parse_param_cache("pinned,fc8=swapped")
    assert cache == ParamCache("pinned", (("fc8", "swapped"),))
    assert (cache.pins("conv1"), cache.pins("fc8")) == (True, False)
    assert parse_param_cache("a/b=pinned").pins("a/b")


def test_another_placement_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match=r"'pined'.*pinned"):
        parse_param_cache("conv1=pined")
