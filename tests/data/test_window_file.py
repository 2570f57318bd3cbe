import pytest

from geeps_caffe.data.window_file import Window, read_window_file
from geeps_caffe.errors import DataError

TEXT = """# 0
a.png
3
20
30
3
3 0.8 2 3 9 10
3 0.1 4 4 11 11
2 0.5 1.0 1 8 8
# 1
b.png
3 40 50 0
"""


@pytest.fixture
def read(tmp_path):
    def read(text, fg=0.6, bg=0.4):
        (tmp_path / "w.txt").write_text(text)
        return read_window_file(str(tmp_path / "w.txt"), "root/", fg, bg)

    return read


def test_windows_are_sorted_by_their_overlap(read):
    file = read(TEXT)
    assert file.images == {0: "root/a.png", 1: "root/b.png"}
    assert file.channels == 3
    assert file.foreground == [Window(0, 3, 2, 3, 9, 10)]
    assert file.background == [Window(0, 0, 4, 4, 11, 11)]


def test_thresholds_decide(read):
    assert len(read(TEXT, fg=0.5).foreground) == 2
    assert len(read(TEXT, bg=0.51).background) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT.replace("# 0", "0"), r"w\.txt:1: expected '# number of the image'"),
        (TEXT.replace("0.8", "x"), r"w\.txt:7: expected an overlap, found 'x'"),
        (TEXT.replace("3 0.8", "0 0.8"), r"w\.txt:7: a foreground window of class 0"),
        (TEXT[:40], "the file ends where"),
        ("", "is empty"),
    ],
)
def test_a_wrong_line_is_refused_with_its_place(read, text, said):
    with pytest.raises(DataError, match=said):
        read(text)
