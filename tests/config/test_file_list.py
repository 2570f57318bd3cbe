import pytest

from geeps_caffe.config.file_list import files_in
from geeps_caffe.errors import UsageError


@pytest.mark.parametrize(
    ("text", "names"),
    [("", []), ("a", ["a"]), ("a,b.h5", ["a", "b.h5"]), (" a b , c", ["a b", "c"])],
)
def test_names_stand_between_commas(text, names):
    assert files_in(text) == names


@pytest.mark.parametrize("text", ["a,", ",", "a, ,b"])
def test_an_empty_name_is_refused(text):
    with pytest.raises(UsageError, match="a name between commas is empty"):
        files_in(text)
