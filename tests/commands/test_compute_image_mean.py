import logging
import shutil

import numpy as np
import pytest

from geeps_caffe.commands.compute_image_mean import main
from geeps_caffe.data.database_writer import DatabaseWriter
from geeps_caffe.data.datum import write_datum
from geeps_caffe.data.mean import read_mean
from geeps_caffe.errors import DataError


@pytest.mark.parametrize(
    "database",
    ["lmdb_raw", "leveldb_raw", "lmdb_gray", "lmdb_resize32", "lmdb_encoded_png"],
)
def test_mean_and_log_equal_those_of_caffe(
    corpus, tmp_path, caplog, monkeypatch, database
):
    caplog.set_level(logging.INFO)
    folder = corpus / "golden/data"
    shutil.copytree(folder / database, tmp_path / database)
    monkeypatch.chdir(tmp_path)
    output = f"mean_{database}.binaryproto"
    assert main([f"--backend={database.split('_')[0]}", database, output]) == 0
    recorded = np.load(folder / f"mean_{database}.npz")["mean"]
    np.testing.assert_array_equal(read_mean(output), recorded[0])
    said = (folder / f"mean_{database}.log").read_text().splitlines()
    assert [record.getMessage() for record in caplog.records] == said


def test_an_image_of_another_size_is_named(tmp_path):
    with DatabaseWriter(str(tmp_path / "db"), "lmdb") as writer:
        writer.put("first", write_datum(np.zeros((1, 2, 2), np.uint8), 0))
        writer.put("other", write_datum(np.zeros((1, 2, 3), np.uint8), 0))
        writer.finish()
    with pytest.raises(DataError, match=r"key 'other'.*\(1, 2, 3\).*\(1, 2, 2\)"):
        main([str(tmp_path / "db")])


def test_without_a_database_it_shows_usage(capsys):
    assert main([]) == 1
    assert (
        "compute_image_mean [FLAGS] INPUT_DB [OUTPUT_FILE]" in capsys.readouterr().out
    )
