import pytest

from geeps_caffe.data.image_list import Listed, read_image_list
from geeps_caffe.errors import DataError


@pytest.fixture
def listed(tmp_path):
    def read(content, root=""):
        (tmp_path / "list.txt").write_bytes(content)
        return read_image_list(str(tmp_path / "list.txt"), root)

    return read


@pytest.mark.parametrize(
    ("line", "name", "label"),
    [
        (b"a.jpg 9 ", "a.jpg", 9),
        (b"b c.jpg 3", "b c.jpg", 3),
        (b"d.jpg\t4", "d.jpg", 4),
        (b"e.jpg 5\r\n", "e.jpg", 5),
        (b"\xef\xbb\xbff.jpg 6\n", "f.jpg", 6),
        (b"g.jpg -1\n", "g.jpg", -1),
        ("ü.jpg 2".encode(), "ü.jpg", 2),
    ],
)
def test_a_line_is_a_name_and_a_label(listed, line, name, label):
    assert listed(line) == [Listed(name, label)]


def test_empty_lines_are_skipped_and_the_last_needs_no_end(listed):
    names = [one.name for one in listed(b"\na 1\n\n \nb 2\r\n\r\nc 3")]
    assert names == ["a", "b", "c"]


def test_the_root_is_put_before_each_name(listed):
    assert listed(b"a.jpg 1", "images/")[0].name == "images/a.jpg"


def test_a_root_that_lacks_its_slash_is_named(listed, tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.jpg").touch()
    root = str(tmp_path / "images")
    with pytest.raises(DataError, match=f"write '{root}/'"):
        listed(b"a.jpg 1", root)


def test_a_root_may_be_the_beginning_of_a_name(listed, tmp_path):
    (tmp_path / "left_a.jpg").touch()
    root = str(tmp_path / "left_")
    assert listed(b"a.jpg 1", root)[0].name == f"{root}a.jpg"


@pytest.mark.parametrize("line", [b"a.jpg", b"a.jpg cat", b"a.jpg 1.5"])
def test_a_line_without_a_label_is_refused_with_its_place(listed, line):
    with pytest.raises(DataError, match=r"list\.txt:2: 'a\.jpg.* has no label"):
        listed(b"x.jpg 1\n" + line)


def test_an_empty_list_is_refused(listed):
    with pytest.raises(DataError, match="is empty"):
        listed(b"\n")


def test_a_missing_list_is_refused(tmp_path):
    with pytest.raises(DataError, match="image list not found"):
        read_image_list(str(tmp_path / "absent.txt"))
