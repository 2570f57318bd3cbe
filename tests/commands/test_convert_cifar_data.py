import lzma

import numpy as np
import pytest

from geeps_caffe.commands.convert_cifar_data import main
from geeps_caffe.data import open_database
from geeps_caffe.errors import DataError, UsageError
from prototxt.schema import Datum


@pytest.fixture
def batches(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    records = rng.integers(0, 256, (6, 2, 3073), np.uint8)
    records[..., 0] = np.arange(12).reshape(6, 2) % 10
    for n in range(5):
        (tmp_path / f"data_batch_{n + 1}.bin").write_bytes(records[n].tobytes())
    (tmp_path / "test_batch.bin.xz").write_bytes(lzma.compress(records[5].tobytes()))
    return records


def test_all_batches_are_written_in_order(batches):
    assert main([".", "out", "lmdb"]) == 0
    train = open_database("out/cifar10_train_lmdb", "lmdb")
    assert [train.key(i) for i in (0, 9)] == ["00000", "00009"]
    datum = Datum.FromString(bytes(train.read(3)))
    assert (datum.channels, datum.height, datum.width, datum.label) == (3, 32, 32, 3)
    assert datum.data == batches[1, 1, 1:].tobytes()
    test = open_database("out/cifar10_test_lmdb", "lmdb")
    assert (len(train), len(test)) == (10, 2)
    train.close()
    test.close()


def test_a_file_of_another_kind_is_refused(batches):
    with open("data_batch_2.bin", "ab") as file:
        file.write(b"x")
    with pytest.raises(DataError, match=r"data_batch_2.bin' is no binary CIFAR-10"):
        main([".", "out", "lmdb"])


def test_an_unknown_type_of_database_is_refused(batches):
    with pytest.raises(UsageError, match="unknown DB_TYPE 'lmbd'; did you mean 'lmdb'"):
        main([".", "out", "lmbd"])
