"""pycaffe's names: nets and solvers driven from Python."""

from geeps_caffe.caffe import io
from geeps_caffe.caffe.blobs import Blob
from geeps_caffe.caffe.classifier import Classifier
from geeps_caffe.caffe.detector import Detector
from geeps_caffe.caffe.logged import init_log, log
from geeps_caffe.caffe.mode import (
    NCCL,
    TEST,
    TRAIN,
    has_nccl,
    layer_type_list,
    set_device,
    set_engine,
    set_mode_cpu,
    set_mode_gpu,
    set_multiprocess,
    set_random_seed,
    set_solver_count,
    set_solver_rank,
    solver_count,
    solver_rank,
)
from geeps_caffe.caffe.net import Net
from geeps_caffe.caffe.net_spec import NetSpec, layers, params, to_proto
from geeps_caffe.caffe.proto import caffe_pb2
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
from geeps_caffe.caffe.timer import Timer
from geeps_caffe.layers.python_class import PythonLayer as Layer
from geeps_caffe.version import CAFFE_VERSION as __version__

__all__ = [
    "NCCL",
    "TEST",
    "TRAIN",
    "AdaDeltaSolver",
    "AdaGradSolver",
    "AdamSolver",
    "Blob",
    "Classifier",
    "Detector",
    "Layer",
    "NesterovSolver",
    "Net",
    "NetSpec",
    "RMSPropSolver",
    "SGDSolver",
    "Solver",
    "Timer",
    "__version__",
    "caffe_pb2",
    "get_solver",
    "has_nccl",
    "init_log",
    "io",
    "layer_type_list",
    "layers",
    "log",
    "params",
    "set_device",
    "set_engine",
    "set_mode_cpu",
    "set_mode_gpu",
    "set_multiprocess",
    "set_random_seed",
    "set_solver_count",
    "set_solver_rank",
    "solver_count",
    "solver_rank",
    "to_proto",
]
