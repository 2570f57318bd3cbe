import ctypes.util
from types import SimpleNamespace

import pytest

from geeps_caffe.engines.onednn.library import (
    VARIABLE,
    OneDnnError,
    OneDnnMissing,
    candidates,
    check_version,
    open_library,
)


class Function:
    """A function of a library that answers always the same."""

    def __init__(self, answer):
        self.answer = answer

    def __call__(self):
        return self.answer


def library(major, runtime=2, isa=7):
    said = SimpleNamespace(major=major, minor=4, patch=1, cpu_runtime=runtime)
    return SimpleNamespace(
        dnnl_version=Function(SimpleNamespace(contents=said)),
        dnnl_get_effective_cpu_isa=Function(isa),
    )


def test_a_named_file_is_the_only_candidate():
    assert list(candidates({VARIABLE: "/opt/libdnnl.so.3"})) == ["/opt/libdnnl.so.3"]


def test_without_a_name_the_loader_is_asked_last():
    assert list(candidates({}))[-3:] == ["libdnnl.so.3", "libdnnl.3.dylib", "dnnl.dll"]


def test_a_missing_library_is_said_with_what_to_install():
    with pytest.raises(OneDnnMissing, match=r"/no/where.*pip install onednn-cpu-gomp"):
        open_library({VARIABLE: "/no/where"})


def test_another_library_is_refused():
    path = ctypes.util.find_library("c")
    with pytest.raises(OneDnnError, match="is not oneDNN"):
        open_library({VARIABLE: path})


def test_version_and_instructions_are_told():
    assert check_version(library(3), "x").text == "3.4.1, AVX2"


def test_an_unknown_instruction_set_is_a_number():
    assert check_version(library(3, isa=0x1F), "x").isa == "AVX2 VNNI 2"
    assert check_version(library(3, isa=0x7FFF), "x").isa == "instruction set 0x7fff"


def test_version_2_is_refused():
    with pytest.raises(OneDnnError, match=r"oneDNN 2\.4\.1.*expected version 3"):
        check_version(library(2), "libdnnl.so.2")


def test_the_build_for_sycl_is_refused():
    with pytest.raises(OneDnnError, match=r"SYCL.*expected one built for OpenMP"):
        check_version(library(3, runtime=512), "libdnnl.so.3")
