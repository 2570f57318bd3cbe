"""What this machine and this installation are: the rows of a bug report."""

import os
import platform
import sys
from collections.abc import Mapping
from importlib import metadata

from geeps_caffe.device.backend import gpu_names, nccl_text
from geeps_caffe.device.processor import processor
from geeps_caffe.engines.table import open_engine
from geeps_caffe.errors import GeepsCaffeError
from geeps_caffe.version import CAFFE_VERSION, VERSION

#: Shown name -> names of the distributions that may offer it.
LIBRARIES: dict[str, tuple[str, ...]] = {
    "numpy": ("numpy",),
    "protobuf": ("protobuf",),
    "opencv": (
        "opencv-python-headless",
        "opencv-python",
        "opencv-contrib-python-headless",
        "opencv-contrib-python",
    ),
    "lmdb": ("lmdb",),
    "h5py": ("h5py",),
    "leveldb": ("plyvel", "plyvel-next"),
    "pyzmq": ("pyzmq",),
    "cupy": ("cupy-cuda12x", "cupy-cuda13x", "cupy"),
    "onednn wheel": ("onednn-cpu-gomp",),
}


def version_rows(
    libraries: Mapping[str, tuple[str, ...]] = LIBRARIES,
) -> list[tuple[str, str]]:
    """Versions of everything that matters."""
    rows = [
        ("geeps-caffe", f"{VERSION}, for models of Caffe {CAFFE_VERSION}"),
        ("python", f"{sys.version.split()[0]} ({sys.executable})"),
    ]
    rows += [(name, _installed(names)) for name, names in libraries.items()]
    return rows


def device_rows() -> list[tuple[str, str]]:
    """What there is to compute with."""
    cores = len(os.sched_getaffinity(0))
    return [
        ("engine", _engine()),
        ("cpu", _processor()),
        ("cores", f"{cores} of {os.cpu_count()} may be used"),
        ("memory", _memory()),
        *_gpus(),
        ("system", platform.platform()),
    ]


def _gpus() -> list[tuple[str, str]]:
    """A row for each GPU, or one that says that there is none."""
    found = gpu_names()
    if not found:
        return [("gpu", "none that geeps-caffe can use")]
    return [
        *((f"gpu {i}", name) for i, name in enumerate(found)),
        ("nccl", nccl_text()),
    ]


def show(rows: list[tuple[str, str]]) -> str:
    """Rows as aligned text."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def _installed(names: tuple[str, ...]) -> str:
    for name in names:
        try:
            return f"{metadata.version(name)} ({name})"
        except metadata.PackageNotFoundError:
            continue
    return "not installed"


def _engine() -> str:
    advice: list[str] = []
    try:
        engine = open_engine(advise=advice.append)
    except GeepsCaffeError as error:
        return f"oneDNN can't be used: {error}"
    version = getattr(engine, "version", None)
    text = engine.name if version is None else f"{engine.name} {version.text}"
    threads = getattr(engine, "threads", None)
    if threads:
        text += f", {threads} threads"
    return "; ".join([text, *advice])


def _processor() -> str:
    return processor("model name") or platform.processor() or platform.machine()


def _memory() -> str:
    try:
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return "unknown"
    return f"{pages / 2**30:.1f} GiB"
