"""The double under CuPy's name, for programs whose PYTHONPATH has this folder."""

import os
import sys

from tests.cuda_double.machine import Machine
from tests.cuda_double.module import make_cupy

GPUS = int(os.environ.get("CUDA_DOUBLE_GPUS", "1"))
sys.modules[__name__] = make_cupy(Machine(late=True, check=True, devices=GPUS))
