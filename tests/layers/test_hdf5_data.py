import h5py
import numpy as np
import pytest

from geeps_caffe.errors import DataError
from tests.data.sources import forward, sources


@pytest.fixture
def source():
    with sources() as make:
        yield make


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Rows 0 to 2, 3 to 7 and 8 to 9 in three files."""
    monkeypatch.chdir(tmp_path)
    for name, rows in (("a", range(3)), ("b", range(3, 8)), ("c", range(8, 10))):
        with h5py.File(f"{name}.h5", "w") as file:
            file["row"] = np.array(rows)
            file["pair"] = np.array([(n, -n) for n in rows])
    (tmp_path / "list.txt").write_text("a.h5\nb.h5\nc.h5\n")


def net(batch_size=4, more="", after=""):
    return (
        'layer { name: "d" type: "HDF5Data" top: "row" top: "pair" hdf5_data_param '
        f'{{ source: "list.txt" batch_size: {batch_size} {more} }} {after} }}'
    )


def batches(layer, count):
    return [forward(layer)[0].astype(int).tolist() for _ in range(count)]


def test_batches_cross_files_and_start_again(source):
    layer = source(net())
    assert layer.infer_shapes([]) == ((4,), (4, 2))
    assert batches(layer, 3) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 1]]


def test_tops_keep_step(source):
    row, pair = forward(source(net(7, "shuffle: true")))
    np.testing.assert_array_equal(pair, np.stack([row, -row], 1))


def test_shuffle_shuffles_files_and_rows_in_them(source):
    layer = source(net(10, "shuffle: true"))
    first, second = batches(layer, 2)
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
    files = np.searchsorted([3, 8], first, side="right")
    assert np.count_nonzero(np.diff(files)) == 2


def test_workers_and_a_resume_see_the_same_rows(source):
    whole = batches(source(net(4)), 5)
    parts = [source(net(2), rank=rank, ranks=2) for rank in range(2)]
    for batch in whole[:3]:
        assert [batches(p, 1)[0] for p in parts] == [batch[0::2], batch[1::2]]
    resumed = source(net(4))
    resumed.restore(parts[1].position())
    assert batches(resumed, 2) == whole[3:]


def test_a_transform_is_refused(source):
    with pytest.raises(DataError, match="HDF5Data has no transform_param"):
        source(net(after="transform_param { scale: 2 }"))


def test_a_missing_data_set_is_told_with_the_layer(source):
    text = net().replace('"pair"', '"pairs"')
    with pytest.raises(DataError, match=r"layer 'd' \(HDF5Data\).*did you mean 'pair'"):
        source(text)
