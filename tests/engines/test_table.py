import pytest

from geeps_caffe.engines.onednn.library import VARIABLE, OneDnnMissing
from geeps_caffe.engines.table import ENGINES, open_engine
from geeps_caffe.errors import UsageError


def test_an_engine_is_opened_by_name():
    assert open_engine("reference").name == "reference"


def test_an_unknown_engine_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match=r"did you mean 'onednn'\?"):
        open_engine("oneDNN ")


def test_without_onednn_the_reference_runs_and_says_so(monkeypatch):
    monkeypatch.setenv(VARIABLE, "/no/libdnnl.so.3")
    said = []
    assert open_engine(advise=said.append).name == "reference"
    (line,) = said
    assert "NumPy" in line
    assert "pip install onednn-cpu-gomp" in line


def test_the_line_is_logged_once_where_nobody_takes_it(monkeypatch, caplog):
    monkeypatch.setenv(VARIABLE, "/no/other/libdnnl.so.3")
    for _ in range(2):
        open_engine()
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "/no/other/libdnnl.so.3" in record.getMessage()


def test_onednn_asked_for_by_name_is_an_error_where_it_is_not(monkeypatch):
    monkeypatch.setenv(VARIABLE, "/no/libdnnl.so.3")
    with pytest.raises(OneDnnMissing, match="was not found"):
        open_engine("onednn")


@pytest.mark.parametrize("name", ENGINES)
def test_names_agree(name):
    try:
        assert open_engine(name, 2).name == name
    except OneDnnMissing as missing:
        pytest.skip(str(missing))
