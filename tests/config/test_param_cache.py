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


def test_a_table_that_a_net_has_not_is_refused_with_the_nearest():
    cache = parse_param_cache("pinned,conv1=swapped,fc9=swapped")
    text = r"unknown table of -param_cache 'fc9'; did you mean 'fc8'\? \(known: co"
    with pytest.raises(UsageError, match=text):
        cache.check(["fc8", "conv1", "conv1"])
    cache.check(["fc9", "conv1"])


def test_another_placement_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match=r"'pined'.*pinned"):
        parse_param_cache("conv1=pined")
