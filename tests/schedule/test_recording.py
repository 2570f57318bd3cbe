from geeps_caffe.schedule.recording import record, show_recording
from tests.schedule.nets import TINY, graph_of, program_of

LENET_LIKE = """
layer { name: "data" type: "Input" top: "data" top: "label"
  input_param { shape { dim: 2 dim: 1 dim: 6 dim: 6 } shape { dim: 2 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 2 kernel_size: 3 } }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param { num_output: 3 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label"
  top: "loss" }
"""

#: Forward keeps what backward fetches; of the pooling that is its mask alone.
LENET_ACCESSES = """\
read conv
local_access data (288 bytes) fetch
local_access conv (256 bytes)
post_local_access data
post_read conv
local_access pool (64 bytes)
local_access pool.saved0 (64 bytes)
post_local_access conv
post_local_access pool.saved0 keep
read ip
local_access ip (24 bytes)
post_local_access pool keep
post_read ip
local_access label (8 bytes) fetch
local_access loss (4 bytes)
local_access loss.saved0 (24 bytes)
post_local_access ip
post_local_access label
post_local_access loss keep
post_local_access loss.saved0 keep
local_access loss.diff (4 bytes)
local_access label (8 bytes) fetch
local_access loss.saved0 (24 bytes) fetch
local_access ip.diff (24 bytes)
post_local_access loss.diff
post_local_access label
post_local_access loss.saved0
pre_update ip
read ip
local_access pool (64 bytes) fetch
local_access pool.diff (64 bytes)
post_local_access ip.diff
post_local_access pool
post_read ip
update ip
local_access pool.saved0 (64 bytes) fetch
local_access conv.diff (256 bytes)
post_local_access pool.diff
post_local_access pool.saved0
pre_update conv
read conv
local_access data (288 bytes) fetch
post_local_access conv.diff
post_local_access data
post_read conv
update conv
clock
"""


def recorded(text, **options):
    return record(program_of(graph_of(text), **options))


def by_name(accesses, call, name):
    return [a for a in accesses if (a.call, a.name) == (call, name)]


def test_one_iteration_of_a_net_like_lenet():
    assert show_recording(recorded(LENET_LIKE)) == LENET_ACCESSES


def test_every_access_that_is_opened_is_closed():
    opened = []
    pairs = {
        "post_read": "read",
        "update": "pre_update",
        "post_local_access": "local_access",
    }
    for access in recorded(TINY):
        if access.call in pairs:
            opened.remove((pairs[access.call], access.name))
        elif access.call != "clock":
            opened.append((access.call, access.name))
    assert not opened


def test_a_blob_that_changes_in_place_is_fetched_and_kept_as_one():
    accesses = recorded(TINY)
    # "ip" is written by the inner product, rectified, read by the loss; backward of
    # the loss and of the ReLU read it.
    assert [a.fetch for a in by_name(accesses, "local_access", "ip")] == [False, True]
    closed = by_name(accesses, "post_local_access", "ip")
    assert [a.keep for a in closed] == [True, False]


def test_a_net_that_does_not_learn_records_no_update_and_no_clock():
    accesses = recorded(TINY, backward=False, tables=False)
    assert {a.call for a in accesses} == {"local_access", "post_local_access"}


def test_what_is_filled_when_the_plan_is_bound_is_no_access():
    accesses = recorded(TINY, keep_all=True)
    assert [a.fetch for a in by_name(accesses, "local_access", "loss.diff")] == [True]


def test_scratch_is_neither_fetched_nor_kept():
    from tests.schedule.odd_engine import OddEngine  # noqa: PLC0415

    accesses = record(program_of(graph_of(TINY), OddEngine()))
    scratch = [a for a in accesses if ".scratch" in a.name]
    assert scratch
    assert not any(a.fetch or a.keep for a in scratch)
