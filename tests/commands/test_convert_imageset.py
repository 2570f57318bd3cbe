import hashlib
import logging
import os

import cv2
import lmdb
import numpy as np
import pytest

from geeps_caffe.commands.convert_imageset import main
from geeps_caffe.data import open_database
from geeps_caffe.data.datum import DatumReader
from geeps_caffe.errors import DataError, InputError, UsageError


@pytest.fixture
def images(tmp_path, monkeypatch, rng):
    """A working directory with images/a.png, `b c.png` and d.png."""
    monkeypatch.chdir(tmp_path)
    os.mkdir("images")
    for name in ("a.png", "b c.png", "d.png"):
        cv2.imwrite(f"images/{name}", rng.integers(0, 256, (5, 4, 3), np.uint8))


def write_list(text):
    with open("list.txt", "wb") as file:
        file.write(text.encode())


def contents(path, backend="lmdb"):
    database = open_database(path, backend)
    reader = DatumReader()
    try:
        return [
            (database.key(i), reader.read(database.read(i)).label)
            for i in range(len(database))
        ]
    finally:
        database.close()


@pytest.mark.parametrize(
    ("database", "flags"),
    [
        ("lmdb_raw", ["--backend=lmdb"]),
        ("lmdb_resize32", ["-resize_height", "32", "-resize_width=32"]),
        (
            "lmdb_resize20x28_png",
            ["--resize_height=20", "--resize_width=28", "--encode_type=png"],
        ),
        ("lmdb_gray", ["-gray"]),
        ("lmdb_encoded_png", ["--encoded", "--encode_type=png"]),
        ("lmdb_encoded_native", ["--encoded", "--check_size=false"]),
        (
            "lmdb_gray_encoded_png",
            ["-gray", "-encode_type=png", "-resize_height", "40", "-resize_width=48"],
        ),
    ],
)
def test_the_database_equals_that_of_caffe(
    corpus, tmp_path, monkeypatch, database, flags
):
    monkeypatch.chdir(corpus / "golden/data")
    listed = {"lmdb_resize": "list_var.txt", "lmdb_encoded_png": "list_color.txt"}
    names = [file for start, file in listed.items() if database.startswith(start)]
    made = str(tmp_path / "db")
    assert main([*flags, "images/", (names or ["list.txt"])[0], made]) == 0
    dump = np.load(f"dump_{database}.npz")
    with (
        lmdb.open(made, readonly=True, lock=False) as environment,
        environment.begin() as transaction,
    ):
        records = list(transaction.cursor())
    assert [key.decode() for key, _ in records] == dump["keys"].tolist()
    hashes = [hashlib.sha256(value).hexdigest() for _, value in records]
    assert hashes == dump["value_sha256"].tolist()


@pytest.mark.parametrize("backend", ["lmdb", "leveldb"])
def test_odd_lines_of_the_list_are_understood(images, backend):
    write_list("a.png 9 \n\nb c.png 3\r\nd.png\t4")
    assert main([f"-backend={backend}", "images/", "list.txt", "db"]) == 0
    assert contents("db", backend) == [
        ("00000000_a.png", 9),
        ("00000001_b c.png", 3),
        ("00000002_d.png", 4),
    ]


def test_the_log_has_the_lines_of_caffe(images, caplog):
    caplog.set_level(logging.INFO)
    write_list("a.png 1\nd.png 2\n")
    assert main(["images/", "list.txt", "db"]) == 0
    said = [record.getMessage() for record in caplog.records]
    assert said[:3] == [
        "A total of 2 images.",
        "Opened lmdb db",
        "Processed 2 files.",
    ]


def test_missing_and_broken_images_are_named_counted_and_a_failure(images, caplog):
    caplog.set_level(logging.INFO)
    write_list("a.png 1\nx.png 2\nbroken.png 3\n")
    with open("images/broken.png", "wb") as file:
        file.write(b"no image")
    assert main(["-skip_list=skipped.txt", "images/", "list.txt", "db"]) == 1
    assert "3 read, 1 written, 2 skipped." in caplog.text
    assert "images/x.png" in caplog.text
    assert "near names there: 'd.png', 'a.png'" in caplog.text
    assert "image 'images/broken.png': OpenCV can't decode" in caplog.text
    with open("skipped.txt") as file:
        assert file.read() == "x.png 2\nbroken.png 3\n"
    assert contents("db") == [("00000000_a.png", 1)]


def test_missing_images_can_be_allowed(images):
    write_list("a.png 1\nx.png 2\n")
    assert main(["--allow-missing", "images/", "list.txt", "db"]) == 0


def test_no_image_at_all_makes_no_database(images):
    write_list("a.png 1\n")
    with pytest.raises(DataError, match=r"none of the 1 images .* needs its / at"):
        main(["images", "list.txt", "db"])
    assert sorted(os.listdir()) == ["images", "list.txt"]


def test_an_existing_database_is_not_touched(images):
    write_list("a.png 1\n")
    main(["images/", "list.txt", "db"])
    with pytest.raises(InputError, match="exists already"):
        main(["images/", "list.txt", "db"])
    assert len(contents("db")) == 1


def test_check_size_names_both_images(images):
    cv2.imwrite("images/large.png", np.zeros((9, 9, 3), np.uint8))
    write_list("a.png 1\nlarge.png 2\n")
    with pytest.raises(UsageError, match=r"large.png' has shape \(3, 9, 9\).*a\.png"):
        main(["-check_size", "images/", "list.txt", "db"])
    assert not os.path.exists("db")


def test_shuffle_keeps_all_images_and_depends_on_the_seed(images):
    write_list("".join(f"a.png {n}\n" for n in range(20)))
    orders = []
    for seed in (1, 1, 2):
        main(["-shuffle", f"-seed={seed}", "images/", "list.txt", f"db{len(orders)}"])
        orders.append([label for _, label in contents(f"db{len(orders)}")])
    assert orders[0] == orders[1] != orders[2]
    assert all(sorted(order) == list(range(20)) for order in orders)
    assert list(range(20)) not in orders


@pytest.mark.parametrize("argv", [[], ["-help"], ["images/", "list.txt"]])
def test_without_its_three_words_it_shows_usage(argv, capsys):
    assert main(argv) == 1
    assert "convert_imageset [FLAGS] ROOTFOLDER/ LISTFILE DB_NAME" in (
        capsys.readouterr().out
    )


def test_one_side_of_a_size_is_refused(images):
    write_list("a.png 1\n")
    with pytest.raises(UsageError, match="give both"):
        main(["-resize_width=3", "images/", "list.txt", "db"])


def test_an_unknown_type_is_refused(images):
    write_list("a.png 1\n")
    with pytest.raises(UsageError, match="can't write images of type 'xyz'"):
        main(["-encode_type=xyz", "images/", "list.txt", "db"])
