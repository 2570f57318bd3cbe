from geeps_caffe.device.host_memory import host_bytes

MEMINFO = """MemTotal:        1000 kB
MemFree:          300 kB
SwapTotal:         24 kB
HugePages_Total:       0
"""


def files(tmp_path, meminfo=None, cgroup=None):
    for name, text in (("meminfo", meminfo), ("memory.max", cgroup)):
        if text is not None:
            (tmp_path / name).write_text(text)
    return str(tmp_path / "meminfo"), str(tmp_path / "memory.max")


def test_memory_and_swap_count(tmp_path):
    assert host_bytes(*files(tmp_path, MEMINFO)) == 1024 * 1024


def test_a_container_without_a_limit_has_all_of_it(tmp_path):
    assert host_bytes(*files(tmp_path, MEMINFO, "max\n")) == 1024 * 1024


def test_a_container_may_have_less(tmp_path):
    assert host_bytes(*files(tmp_path, MEMINFO, "5000\n")) == 5000


def test_a_system_that_says_nothing_has_no_limit(tmp_path):
    assert host_bytes(*files(tmp_path)) is None
