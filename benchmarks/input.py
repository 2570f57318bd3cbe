"""How many records a second become batches: LMDBs of JPEGs and of raw pixels.

    GEEPS_CAFFE_CORPUS=... python -m benchmarks.input [--write]

256x256 pictures to 227x227 batches of floats, cropped at random, mirrored, less a mean;
beside PyTorch's DataLoader on the same files, where that is installed. Each figure is
the best of some passes, all in turn.
"""

import argparse
import itertools
import os
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from benchmarks.input_databases import KINDS, make_databases
from benchmarks.results import tell, title
from geeps_caffe.layers.base import Setting
from geeps_caffe.layers.data import Data
from prototxt import LayerParameter

CROP, BATCH = 227, 64
THREADS = (1, 2)


def data_layer(path: str, threads: int) -> Data:
    """The layer that a net would have."""
    spec = LayerParameter(name="data", type="Data", top=["data", "label"])
    spec.data_param.source, spec.data_param.batch_size = path, BATCH
    spec.data_param.backend, spec.data_param.threads = spec.data_param.LMDB, threads
    spec.transform_param.crop_size, spec.transform_param.mirror = CROP, True
    spec.transform_param.mean_value.extend([104, 117, 123])
    layer = Data(spec, Setting())
    layer.setup([])
    layer.infer_shapes([])
    return layer


def ours(path: str, records: int, threads: int) -> float:
    """Records a second, after the first batches."""
    layer = data_layer(path, threads)
    for _ in range(4):
        layer.reader.next()
    batches = records // BATCH
    start = time.perf_counter()
    for _ in range(batches):
        layer.reader.next()
    took = time.perf_counter() - start
    layer.close()
    return batches * BATCH / took


def torchs(path: str, records: int, threads: int) -> float:
    """The same of PyTorch; `threads` are its worker processes."""
    from benchmarks.input_torch import records_per_second  # noqa: PLC0415

    return records_per_second(path, records, CROP, BATCH, threads)


def measure(records: int, passes: int) -> dict[tuple[str, str, int], float]:
    """The best of `passes` by kind of database, peer and threads."""
    peers = {"ours": ours} | ({"torch": torchs} if find_spec("torch") else {})
    best: dict[tuple[str, str, int], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(os.environ["GEEPS_CAFFE_CORPUS"])
        make_databases(Path(folder), corpus, records)
        for _ in range(passes):
            for kind, name, threads in itertools.product(KINDS, peers, THREADS):
                found = peers[name](f"{folder}/{kind}", records, threads)
                key = (kind, name, threads)
                best[key] = max(found, best.get(key, 0))
    return best


def table(found: dict[tuple[str, str, int], float]) -> list[str]:
    """Lines for the results."""
    lines = ["| records a second | 1 thread | 2 threads | gain |", "|---|---|---|---|"]
    for kind, name in dict.fromkeys(key[:2] for key in found):
        one, two = (found[kind, name, threads] for threads in THREADS)
        lines.append(f"| {kind}, {name} | {one:,.0f} | {two:,.0f} | {two / one:.2f} |")
    return lines


def main() -> None:
    """Measure and print; append to the results on request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1536)
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = title("Records a second from databases", "The best of some passes")
    lines += table(measure(options.records, options.passes))
    tell(lines, options.write)


if __name__ == "__main__":
    main()
