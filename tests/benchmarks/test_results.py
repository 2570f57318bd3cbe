"""Parts of RESULTS.md: a head that says how to get them again, then their lines."""

import re

import pytest

from benchmarks.results import append, title


@pytest.fixture
def called(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/somewhere/input.py", "--passes", "2"])


def test_a_head_says_when_where_and_by_which_command(called):
    before, head, _, where, after = title("Records", "The best of 2")
    assert (before, head, after) == ("", "## Records", "")
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC, .*, \d+ cores, load ", where)
    assert where.endswith(": `python -m benchmarks.input --passes 2`. The best of 2.")


def test_lines_go_to_the_end_of_the_results(tmp_path):
    file = tmp_path / "RESULTS.md"
    for lines in (["", "## One", "1"], ["", "## Two", "2"]):
        append(lines, file)
    assert file.read_text() == "\n## One\n1\n\n## Two\n2\n"
