"""pycaffe's names: nets and solvers driven from Python."""

from geeps_caffe.caffe.mode import (
    TEST,
    TRAIN,
    set_device,
    set_engine,
    set_mode_cpu,
    set_mode_gpu,
    set_random_seed,
)
from geeps_caffe.caffe.net import Net
from geeps_caffe.caffe.solver import (
    AdaDeltaSolver,
    AdaGradSolver,
    AdamSolver,
    NesterovSolver,
    RMSPropSolver,
    SGDSolver,
    Solver,
    get_solver,
)
from geeps_caffe.layers.python_class import PythonLayer as Layer
from geeps_caffe.version import CAFFE_VERSION as __version__

__all__ = [
    "TEST",
    "TRAIN",
    "AdaDeltaSolver",
    "AdaGradSolver",
    "AdamSolver",
    "Layer",
    "NesterovSolver",
    "Net",
    "RMSPropSolver",
    "SGDSolver",
    "Solver",
    "__version__",
    "get_solver",
    "set_device",
    "set_engine",
    "set_mode_cpu",
    "set_mode_gpu",
    "set_random_seed",
]
