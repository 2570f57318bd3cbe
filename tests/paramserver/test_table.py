import pytest

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver import Segment, Table, row_blocks
from geeps_caffe.paramserver.table import parts_between


@pytest.mark.parametrize(
    ("rows", "shards"), [(5, 4), (4, 4), (3, 5), (100, 7), (1, 1), (0, 2)]
)
def test_blocks_are_contiguous_complete_and_differ_by_one_row(rows, shards):
    blocks = row_blocks(rows, shards)
    assert [b[0] for b in blocks] + [rows] == [0] + [b[1] for b in blocks]
    sizes = [stop - start for start, stop in blocks]
    assert max(sizes) - min(sizes) <= 1


def test_five_rows_on_four_shards():
    assert [stop - start for start, stop in row_blocks(5, 4)] == [2, 1, 1, 1]


def test_one_value_takes_one_row():
    table = Table("bias", 1)
    assert (table.rows, table.elements, table.nbytes) == (1, 128, 512)


def test_a_table_without_segments_is_one_as_a_whole():
    (part,) = Table("w", 300).parts
    assert (part.offset, part.size) == (0, 300)


def test_segments_are_cut_at_the_ends_of_a_span():
    segments = (Segment("w", 0, 10), Segment("b", 12, 6, lr_mult=2.0))
    table = Table("t", 18, segments=segments, row_width=4)
    assert parts_between(table, 0, 8) == (Segment("w", 0, 8),)
    assert parts_between(table, 8, 20) == (
        Segment("w", 8, 2),
        Segment("b", 12, 6, lr_mult=2.0),
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"size": 0}, "size 0"),
        ({"size": 4, "dtype": "int32"}, "'int32' is neither"),
        ({"size": 4, "segments": (Segment("w", 0, 5),)}, "'w' covers elements 0 to 5"),
        (
            {"size": 9, "segments": (Segment("w", 0, 5), Segment("b", 4, 2))},
            "'b' covers elements 4 to 6, but 5 to 9 are free",
        ),
    ],
)
def test_impossible_tables_are_refused(fields, message):
    with pytest.raises(ParameterServerError, match=message):
        Table("t", **fields)
