import numpy as np

from geeps_caffe.commands.convert_mnist_siamese_data import main
from geeps_caffe.data import open_database
from geeps_caffe.data.datum import DatumReader
from tests.commands.test_convert_mnist_data import idx


def test_pairs_have_two_channels_and_say_whether_they_are_alike(tmp_path):
    labels = np.arange(100, dtype=np.uint8) % 2
    images = np.repeat(labels, 4).reshape(100, 2, 2)  # the pixels are the label
    (tmp_path / "images").write_bytes(idx(images))
    (tmp_path / "labels").write_bytes(idx(labels))
    words = [str(tmp_path / name) for name in ("images", "labels", "db")]
    assert main(["-backend=lmdb", *words]) == 0
    database = open_database(words[2], "lmdb")
    pairs = [DatumReader().read(database.read(i)) for i in range(len(database))]
    assert len(pairs) == 100
    assert all(p.pixels.shape == (2, 2, 2) for p in pairs)
    assert all(p.label == (p.pixels[0] == p.pixels[1]).all() for p in pairs)
    assert 30 < sum(p.label for p in pairs) < 70
    database.close()


def test_without_its_three_words_it_shows_usage(capsys):
    assert main(["images"]) == 1
    assert "convert_mnist_siamese_data [FLAGS]" in capsys.readouterr().out
