"""Made digits: a bright bar whose place tells the class; and nets to learn them."""

import numpy as np

from geeps_caffe.data.database_writer import DatabaseWriter
from geeps_caffe.data.datum import write_datum
from tests.end_to_end.program import ROOT

SIDE = 28


def digit(label, rng):
    image = rng.integers(0, 60, (1, SIDE, SIDE))
    row = 2 + 2 * label
    image[:, row : row + 4, 4:24] += 180
    return image.astype(np.uint8)


def make_database(path, count, rng):
    """An LMDB of `count` digits; labels 0 to 9 over and over."""
    with DatabaseWriter(str(path), "lmdb") as writer:
        for number in range(count):
            label = number % 10
            writer.put(f"{number:08d}", write_datum(digit(label, rng), label))
        writer.finish()


def make_lenet(folder, rng, **fields):
    """models/lenet in `folder`, with databases of made digits.

    Args:
        fields: replace or add fields of the solver.
    """
    make_database(folder / "digits_train_lmdb", 320, rng)
    make_database(folder / "digits_test_lmdb", 100, rng)
    model = ROOT / "models" / "lenet"
    (folder / "train_val.prototxt").write_text(
        (model / "train_val.prototxt").read_text()
    )
    solver = {
        "net": '"train_val.prototxt"',
        "test_iter": 1,
        "test_interval": 20,
        "base_lr": 0.01,
        "momentum": 0.9,
        "weight_decay": 0.0005,
        "lr_policy": '"inv"',
        "gamma": 0.0001,
        "power": 0.75,
        "display": 10,
        "max_iter": 40,
        "snapshot": 20,
        "snapshot_prefix": '"lenet"',
        "solver_mode": "CPU",
        "random_seed": 3,
        **fields,
    }
    text = "".join(f"{name}: {value}\n" for name, value in solver.items())
    (folder / "solver.prototxt").write_text(text)
