"""What users of Caffe stumble on, made to happen on purpose: what is said and done.

Numbers are those of a catalogue of such pains. A test of each is here, through the
whole program; what else looks at it:

| pain | what                                   | also in                              |
|------|----------------------------------------|--------------------------------------|
| 1    | a slip aborts the process              | end_to_end/test_recorded.py          |
| 2    | a database is not there                | data/test_databases.py               |
| 4    | a LevelDB that somebody else has open  | data/test_databases.py               |
| 7    | old and new layers in one file         | examples/test_cases.py (C08)         |
| 8    | BOM, CRLF, quotes, backslashes, swaps  | prototxt/test_text.py, test_parse.py |
| 9    | a mean of another size                 | examples/test_cases.py (C11)         |
| 10   | a mean larger than the input           | data/test_transform.py               |
| 11   | one grey image among colour ones       | layers/test_data.py                  |
| 12   | records of channels last, other types  | layers/test_data.py                  |
| 13   | broken and missing images of a list    | commands/test_convert_imageset.py    |
| 19   | labels that name no class              | layers/test_class_scores.py          |
| 20   | a batch of ignored labels              | examples/test_cases.py (C02)         |
| 27   | shuffling a database or HDF5 files     | layers/test_data.py, test_hdf5_data  |
| 28   | two sources of different length        | data/pairing.py                      |
| 29   | HDF5 larger than memory                | data/test_hdf5.py                    |
| 30   | thousands of numbers from a loose top  | test_log_lines.py                    |
"""

import logging
import tracemalloc

import cv2
import h5py
import numpy as np
import pytest

from geeps_caffe import cli
from geeps_caffe.caffe import TEST, TRAIN, Net
from geeps_caffe.commands import convert_imageset
from geeps_caffe.config.job import RunSettings
from geeps_caffe.data.datum import write_datum
from geeps_caffe.data.mean import write_mean as mean_file
from geeps_caffe.errors import InputError, LayerError
from geeps_caffe.execution import reports
from geeps_caffe.execution.reports import Displayed, Notice
from geeps_caffe.log_lines import lines_of
from prototxt import PrototxtError
from tests.data.databases import make_database, numbered
from tests.execution.recordings import inside
from tests.execution.small import NET, Run, make_place

KEPT = RunSettings(seed=1, threads=1, keep_all=True)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("GLOG_logtostderr", "1")
    with inside(tmp_path):
        yield tmp_path


def net_of(text, phase=TRAIN):
    with open("net.prototxt", "w") as file:
        file.write(text)
    return Net("net.prototxt", phase)


def data_layer(name="data", source="db", batch=2, extra=""):
    return (
        f'layer {{ name: "{name}" type: "Data" top: "{name}" top: "{name}_label" '
        f"{extra} "
        f'data_param {{ source: "{source}" batch_size: {batch} backend: LMDB }} }}\n'
    )


# -- 1 -------------------------------------------------------------------------


def test_1_a_slip_is_an_exception_in_python_and_one_sentence_on_the_command_line(
    place, capsys
):
    make_place(place, NET.replace("num_output", "num_outputs"))
    (place / "solver.prototxt").write_text('net: "net.prototxt" base_lr: 1')
    with pytest.raises(PrototxtError, match="num_output"):
        Net("net.prototxt", TRAIN)
    assert cli.main(["train", "-solver=solver.prototxt"]) == 3
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("geeps-caffe train: net.prototxt:7:")
    assert "num_outputs" in said and "'num_output'" in said
    assert "Traceback" not in said


# -- 2 -------------------------------------------------------------------------


def test_2_a_missing_database_is_told_with_all_that_helps(place):
    make_place(place)
    with pytest.raises(InputError) as found:
        net_of(data_layer(source="dbs"))
    said = str(found.value)
    assert "'dbs'" in said
    assert str(place / "dbs") in said
    assert "'db'" in said  # a near name
    assert "'data' (Data)" in said and "net.prototxt:1" in said


# -- 4 -------------------------------------------------------------------------


def test_4_a_leveldb_serves_training_and_testing_while_another_has_it_open(place):
    plyvel = pytest.importorskip("plyvel")
    rng = np.random.default_rng(1)
    images = rng.integers(0, 255, (10, 1, 3, 3)).astype(np.uint8)
    records = [write_datum(image, n) for n, image in enumerate(images)]
    make_database(place / "db", records, "leveldb")
    (place / "net.prototxt").write_text(NET.replace("LMDB", "LEVELDB"))
    other = plyvel.DB(str(place / "db"))
    try:
        with Run("test_iter: 2 test_interval: 1", settings=KEPT) as run:
            run.trainer.step(2)
            assert len(run.of(reports.Tested)) == 2
    finally:
        other.close()


# -- 7, 8 ----------------------------------------------------------------------


def test_7_mixed_layers_are_refused_with_the_upgraded_text(place):
    text = 'layer { name: "a" type: "Input" top: "a" }\nlayers { name: "b" type: RELU }'
    with pytest.raises(PrototxtError, match=r"'a' \(line 1\)[^$]*'b' \(line 2\)"):
        net_of(text)


def test_8_marks_and_line_ends_of_windows_do_no_harm(place):
    make_place(place)
    content = b"\xef\xbb\xbf" + NET.replace("\n", "\r\n").encode()
    (place / "net.prototxt").write_bytes(content)
    assert "ip" in Net("net.prototxt", TRAIN).params


def test_8_a_quote_that_is_not_closed_is_told_with_line_and_column(place):
    with pytest.raises(PrototxtError, match=r"net\.prototxt:1:\d+: .*not closed"):
        net_of(data_layer().replace('"db"', '"db'))


def test_8_backslashes_of_windows_paths_are_explained(place):
    with pytest.raises(PrototxtError, match="backslash is written twice"):
        net_of(data_layer(source=r"C:\Users\db"))


def test_8_swapped_files_are_recognised(place):
    make_place(place)
    with Run("snapshot: 1") as run:
        run.trainer.step(1)
    with pytest.raises(PrototxtError, match="swapped"):
        Net("solver_iter_1.caffemodel", "net.prototxt", TEST)


# -- 9, 10, 11, 12 -------------------------------------------------------------


def write_mean(place, shape):
    mean = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    (place / "mean.binaryproto").write_bytes(mean_file(mean))
    return mean


MEAN = 'transform_param { mean_file: "mean.binaryproto" %s }'


def test_9_a_mean_of_another_size_is_refused_with_both_and_two_ways_out(place):
    make_database(place / "db", [write_datum(np.zeros((1, 6, 5), np.uint8), 0)])
    write_mean(place, (1, 4, 4))
    with pytest.raises(InputError, match="mean_value") as found:
        net_of(data_layer(extra=MEAN % ""))
    assert "6" in str(found.value) and "4" in str(found.value)


def test_10_a_mean_is_cut_where_the_image_is_cut(place):
    make_database(place / "db", [write_datum(np.full((1, 6, 6), 50, np.uint8), 0)])
    mean = write_mean(place, (1, 6, 6))
    net = net_of(data_layer(batch=1, extra=MEAN % "crop_size: 4"), TEST)
    expected = 50 - mean[:, 1:5, 1:5]
    np.testing.assert_array_equal(net.forward()["data"][0], expected)


def test_11_a_grey_image_among_colour_ones_is_named_at_the_start(place):
    shapes = [(3, 4, 4)] * 3 + [(1, 4, 4)]
    records = [write_datum(np.zeros(s, np.uint8), 0) for s in shapes]
    make_database(place / "db", records)
    values = "transform_param { mean_value: 1 mean_value: 2 mean_value: 3 }"
    with pytest.raises(InputError, match="0003"):
        net_of(data_layer(extra=values))
    forced = values.replace("{", "{ force_color: true", 1)
    assert net_of(data_layer(batch=4, extra=forced)).forward()["data"].shape[1] == 3


def test_12_channels_last_and_foreign_records_are_recognised(place):
    make_database(place / "db", [write_datum(np.zeros((40, 40, 3), np.uint8), 0)])
    with pytest.raises(InputError, match=r"written as \(H, W, C\)"):
        net_of(data_layer(extra="transform_param { crop_size: 30 }"))
    make_database(place / "foreign", [b"\x0a\x05\x08\x03\x10\x02\x18"] * 2)
    with pytest.raises(InputError, match="foreign"):
        net_of(data_layer(source="foreign"))


# -- 13 ------------------------------------------------------------------------


def test_13_what_cannot_be_converted_is_named_counted_and_a_failure(place, caplog):
    cv2.imwrite("good.jpg", np.zeros((8, 8, 3), np.uint8))
    (place / "broken.jpg").write_bytes((place / "good.jpg").read_bytes()[:100])
    (place / "list.txt").write_text("good.jpg 1 \nabsent.jpg 2\nbroken.jpg 3\n")
    with caplog.at_level(logging.INFO):
        assert convert_imageset.main(["./", "list.txt", "out"]) != 0
    assert "absent.jpg" in caplog.text and "broken.jpg" in caplog.text


# -- 19, 20 --------------------------------------------------------------------


def labelled(place, labels):
    images = np.zeros((len(labels), 1, 2, 2), np.uint8)
    records = [write_datum(i, n) for i, n in zip(images, labels, strict=True)]
    make_database(place / "db", records)
    text = data_layer(batch=4) + (
        'layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" '
        "inner_product_param { num_output: 5 } }\n"
        'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" '
        'bottom: "data_label" top: "loss" loss_param { ignore_label: 255 } }'
    )
    (place / "net.prototxt").write_text(text)


@pytest.mark.parametrize("bad", [5, -1, -90, 45])
def test_19_a_label_that_names_no_class_stops_the_run(place, bad):
    labelled(place, [0, 1, 4, bad])
    with Run("") as run, pytest.raises(LayerError) as found:
        run.trainer.step(1)
    said = str(found.value)
    for part in (f"label {bad}", "0", "4", "'loss'", "3", "record 3 (key '"):
        assert part in said, said


def test_20_a_batch_of_ignored_labels_changes_no_weights(place):
    labelled(place, [255] * 4)
    with Run("display: 1") as run:
        before = run.weights()
        run.trainer.step(2)
        after = run.weights()
    assert [r.loss for r in run.of(Displayed)] == [0, 0]
    assert all(np.array_equal(before[key], after[key]) for key in before)


# -- 27, 28, 29 ----------------------------------------------------------------


def test_27_a_database_is_shuffled_on_request_with_each_record_once(place):
    make_place(place)
    shuffled = NET.replace('source: "db"', 'source: "db" shuffle: true')
    (place / "net.prototxt").write_text(shuffled)
    with Run("", settings=KEPT) as run:
        labels = run.labels(10)
    first, second = (np.ravel(part).tolist() for part in (labels[:5], labels[5:]))
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second and first != list(range(10))


def test_28_sources_of_different_length_are_named(place):
    make_database(place / "db", numbered(10))
    make_database(place / "other", numbered(9))
    silence = 'layer {{ name: "s" type: "Silence" {} }}'.format(
        " ".join(f'bottom: "{b}{e}"' for b in ("data", "more") for e in ("", "_label"))
    )
    text = data_layer() + data_layer("more", "other") + silence
    (place / "net.prototxt").write_text(text)
    with Run("") as run:
        (notice,) = run.of(Notice)
    assert notice.level == "W"
    assert "'data' has 10 records, 'more' has 9" in notice.text


def test_29_hdf5_of_twelve_gigabytes_is_read_by_rows(place):
    rows, width = 3_000_000, 1000  # more values than 2^31, of which few are stored
    with h5py.File("big.h5", "w") as file:
        data = file.create_dataset("data", (rows, width), "<f4", chunks=(100, width))
        data[:2] = [[1] * width, [2] * width]
        file.create_dataset("label", (rows,), "<f4", chunks=(1000,))
    (place / "list.txt").write_text("big.h5\n")
    tracemalloc.start()
    net = net_of(
        'layer { name: "d" type: "HDF5Data" top: "data" top: "label" '
        'hdf5_data_param { source: "list.txt" batch_size: 3 } }'
    )
    first = net.forward()["data"].copy()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert first[:, 0].tolist() == [1, 2, 0]
    assert peak < 64 << 20


# -- 30 ------------------------------------------------------------------------


def test_30_a_loose_top_is_cut_short_with_advice(place):
    make_place(place)
    loose = 'layer { name: "loose" type: "Power" bottom: "data" top: "loose" }'
    net = NET.replace("batch_size: 2", "batch_size: 9") + loose
    (place / "net.prototxt").write_text(net)
    with Run("display: 1") as run:
        run.trainer.step(1)
    (shown,) = run.of(Displayed)
    texts = [line.text for line in lines_of(shown)]
    assert len([text for text in texts if ": loose = " in text]) == 16
    (rest,) = [text for text in texts if "Silence" in text]
    assert "65 more of 'loose'" in rest
