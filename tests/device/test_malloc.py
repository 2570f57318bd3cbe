import platform

from geeps_caffe.device.malloc import keep_small_buffers


def test_freed_buffers_are_kept_where_there_is_glibc():
    assert keep_small_buffers({}) == (platform.libc_ver()[0] == "glibc")


def test_what_the_user_has_set_stays():
    assert not keep_small_buffers({"MALLOC_TRIM_THRESHOLD_": "1000"})
