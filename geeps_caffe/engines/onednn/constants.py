"""Numbers of oneDNN's C interface, equal in all releases of version 3.

From `dnnl_types.h` and `dnnl_common_types.h`; only what this engine uses.
"""

from enum import IntEnum, IntFlag


class Status(IntEnum):
    """What a function answers."""

    SUCCESS = 0
    OUT_OF_MEMORY = 1
    INVALID_ARGUMENTS = 2
    UNIMPLEMENTED = 3
    LAST_IMPLEMENTATION = 4
    RUNTIME_ERROR = 5
    NOT_REQUIRED = 6


class Runtime(IntFlag):
    """How the library was built to run in parallel (`dnnl_version_t.cpu_runtime`)."""

    SEQUENTIAL = 1
    OPENMP = 2
    TBB = 4
    THREADPOOL = 8
    SYCL = 512


CPU = 1  # engine kind
IN_ORDER = 1  # stream flag
MAX_NDIMS = 12
MAX_SPATIAL = 3  # axes of an image
BLOCKED = 2  # format kind: strides and inner blocks say it all
ANY = 1  # format tag: the primitive chooses
FLOAT32 = 3  # data type
FLOAT_BYTES = 4
USER_SCRATCHPAD = 1  # scratchpad mode

ISA_NAMES = {
    1: "SSE4.1",
    3: "AVX",
    7: "AVX2",
    15: "AVX2 VNNI",
    31: "AVX2 VNNI 2",
    39: "AVX-512",
    103: "AVX-512 VNNI",
    231: "AVX-512 BF16",
    495: "AVX-512 FP16",
    4079: "AVX-512 AMX",
    8175: "AVX-512 AMX FP16",
}


class Prop(IntEnum):
    """What a primitive is for."""

    FORWARD_TRAINING = 64
    FORWARD_INFERENCE = 96
    BACKWARD = 128


class Algorithm(IntEnum):
    """Which variant of a primitive."""

    CONVOLUTION_DIRECT = 1
    DECONVOLUTION_DIRECT = 10
    RELU = 256  # those whose backward reads the destination
    TANH = 257
    ELU = 258
    LOGISTIC = 260
    SQUARE = 35
    SQUARE_ROOT = 37
    LINEAR = 38
    POWER = 48
    POOLING_MAX = 511
    POOLING_AVERAGE_WITH_PADDING = 767
    POOLING_AVERAGE_WITHOUT_PADDING = 1023
    LRN_ACROSS_CHANNELS = 2815
    ADD = 0x1FFF0
    MULTIPLY = 0x1FFF1
    DIVIDE = 0x1FFF4
    SUBTRACT = 0x1FFF5
    SOFTMAX_ACCURATE = 0x30000


class Normalization(IntFlag):
    """Flags of batch normalization."""

    GLOBAL_STATS = 1
    SCALE = 2
    SHIFT = 4
    RELU = 8


class Query(IntEnum):
    """What can be asked of a primitive descriptor."""

    IMPLEMENTATION = 8
    SRC = 129
    DIFF_SRC = 130
    WEIGHTS = 131
    DIFF_WEIGHTS = 132
    DST = 133
    DIFF_DST = 134
    WORKSPACE = 135
    SCRATCHPAD = 136


class MdQuery(IntEnum):
    """What can be asked of a memory descriptor."""

    STRIDES = 14
    NDIMS = 256
    DIMS = 257
    PADDED_DIMS = 260
    FORMAT_KIND = 262
    INNER_COUNT = 263
    INNER_BLOCKS = 264
    INNER_AXES = 265


class Arg(IntEnum):
    """The arguments of a primitive when it is executed."""

    SRC = 1
    DST = 17
    WEIGHTS = 33
    BIAS = 41
    MEAN = 49
    VARIANCE = 50
    SCALE = 51
    SHIFT = 52
    WORKSPACE = 64
    SCRATCHPAD = 80
    DIFF_SRC = 129
    DIFF_DST = 145
    DIFF_WEIGHTS = 161
    DIFF_BIAS = 169
    DIFF_SCALE = 255
    DIFF_SHIFT = 256


SCALE_OF = 4096  # Arg of the scale of argument a is this plus a
SECOND_SRC = 2  # Arg of the second source of a binary primitive
MULTIPLE_SRC = 1024  # Arg of source i of concat and sum is this plus i


def post_op_src(index: int) -> int:
    """The Arg of the array that post-op `index` takes."""
    return 32768 * (index + 1) + SECOND_SRC
