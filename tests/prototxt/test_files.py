import stat

import pytest

from prototxt.errors import PrototxtError
from prototxt.files import decode, is_text, kind_of, open_file, replace_file


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("upgrade/v1_inputs.prototxt", "net text"),
        ("upgrade/solver_adam.prototxt", "solver text"),
        ("upgrade/v0_weights.caffemodel", "weights"),
        ("solvers/SGD__mom09/snap_iter_10.caffemodel", "weights"),
        ("solvers/SGD__mom09/snap_iter_10.solverstate", "state"),
        ("solvers/SGD__mom09/snap_iter_10.caffemodel.h5", "hdf5 weights"),
        ("solvers/SGD__mom09/snap_iter_10.solverstate.h5", "hdf5 state"),
        ("solvers/train.h5", "unknown"),
    ],
)
def test_the_kind_of_a_file_is_seen_in_its_content(golden, name, kind):
    assert kind_of(golden / name) == kind


def test_real_means_are_told_from_weights(corpus):
    assert kind_of(corpus / "caffemodels/_aux/imagenet_mean.binaryproto") == "mean"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "unknown"),
        (b"hello\n", "unknown"),
        (b"# net: 3\nlayer { }", "net text"),
        (b'test_net: "a"', "solver text"),
        (b"\x00\x01\x02", "unknown"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "unknown"),
    ],
)
def test_other_content_is_told_apart(tmp_path, content, kind):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert kind_of(path) == kind


def test_text_in_another_encoding_is_still_text():
    assert is_text("größe: 1".encode("latin-1"))
    assert not is_text(b"\n\x04conv")
    assert "# gr" in decode("# größe".encode("latin-1"))


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    replace_file(path, lambda file: file.write(b"new") and None)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(file):
        file.write(b"half")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError):
        replace_file(path, fail)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_writing_into_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(PrototxtError, match="cannot be written"):
        replace_file(tmp_path / "no" / "file", lambda file: None)


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_told_of(name):
    with pytest.raises(PrototxtError, match="the name of a file is '"):
        open_file(name)
