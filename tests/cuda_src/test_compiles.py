"""Every kernel file compiles for every architecture: with nvcc, and with NVRTC, which
CuPy uses and which needs no driver to compile."""

import hashlib
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from geeps_caffe.device.kernels import (
    OPTIONS,
    kernel_files,
    read_signatures,
    read_source,
)
from tests.cuda_src.build import cache_folder
from tests.cuda_src.nvrtc import compile_cubin, find_library

ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
FLAGS = ("-cubin", "-Werror", "all-warnings", *OPTIONS)
FILES = kernel_files()


def cubin(file, architecture):
    """The path of a compiled file; compiled unless one of this content is there."""
    text = read_source(file)
    key = hashlib.sha256(repr((text, FLAGS, architecture)).encode()).hexdigest()
    path = cache_folder("nvcc") / f"{key[:24]}-sm_{architecture}.cubin"
    if not path.exists():
        source, made = (path.with_suffix(f".{os.getpid()}.{e}") for e in ("cu", "out"))
        source.write_text(text)
        command = ["nvcc", *FLAGS, f"-arch=sm_{architecture}", str(source)]
        done = subprocess.run([*command, "-o", str(made)], capture_output=True)
        source.unlink()
        if done.returncode:
            return (done.stdout + done.stderr).decode()
        made.rename(path)
    return path


@pytest.fixture(scope="module")
def cubins():
    """All of them, as many at a time as there are cores."""
    if shutil.which("nvcc") is None:
        pytest.skip("there is no nvcc; the CUDA toolkit has it")
    pairs = [(file, a) for file in FILES for a in ARCHITECTURES]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(pairs, pool.map(cubin, *zip(*pairs, strict=True)), strict=True))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("file", FILES)
def test_nvcc_compiles(cubins, file, architecture):
    found = cubins[file, architecture]
    assert not isinstance(found, str), found
    for kernel in read_signatures(file):
        assert kernel.encode() in found.read_bytes()


@pytest.fixture(scope="module")
def nvrtc():
    library = find_library()
    if library is None:
        pytest.skip("there is no NVRTC; pip install geeps-caffe[cuda-check]")
    return library


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("file", FILES)
def test_nvrtc_compiles_without_a_driver(nvrtc, file, architecture):
    options = (*OPTIONS, f"-arch=sm_{architecture}")
    found = compile_cubin(nvrtc, read_source(file), options)
    for kernel in read_signatures(file):
        assert kernel.encode() in found


def test_nvrtc_reports_a_fault_of_one_architecture(nvrtc):
    source = """
#if __CUDA_ARCH__ == 890
#error not for this one
#endif
extern "C" __global__ void nothing(long long n) {}
"""
    for architecture in ARCHITECTURES:
        options = (*OPTIONS, f"-arch=sm_{architecture}")
        if architecture == 89:
            with pytest.raises(ValueError, match="not for this one"):
                compile_cubin(nvrtc, source, options)
        else:
            assert b"nothing" in compile_cubin(nvrtc, source, options)


def test_nvrtc_says_what_is_wrong(nvrtc):
    with pytest.raises(ValueError, match='identifier "y" is undefined'):
        compile_cubin(nvrtc, "void f() { y = 1; }", OPTIONS)
