import platform
from pathlib import Path

import numpy as np
import pytest

from geeps_caffe.device.malloc import give_freed_memory_back, keep_small_buffers


def test_freed_buffers_are_kept_where_there_is_glibc():
    assert keep_small_buffers({}) == (platform.libc_ver()[0] == "glibc")


def test_what_the_user_has_set_stays():
    assert not keep_small_buffers({"MALLOC_TRIM_THRESHOLD_": "1000"})


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or not Path("/proc/self/statm").exists(),
    reason="another C library keeps other memory",
)
def test_freed_memory_is_given_back():
    give_freed_memory_back()
    before = resident()
    many = [np.ones(10_000) for _ in range(400)]  # 32 MB in all
    last = np.ones(100)  # what is freed before it is kept by itself
    del many
    give_freed_memory_back()
    assert resident() - before < 8 << 20
    assert last.sum() == 100
