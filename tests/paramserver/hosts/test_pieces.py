import pytest

from geeps_caffe.paramserver import ASYNC, Scheme, Table
from geeps_caffe.paramserver.hosts.pieces import cut, cut_whole, is_whole
from geeps_caffe.solvers import Hyper


@pytest.mark.parametrize("size", [1, 128, 5 * 128, 5 * 128 + 1, 100_000])
@pytest.mark.parametrize("hosts", [1, 2, 4, 7])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pieces_cover_all_rows_once_in_order(size, hosts, dtype):
    table = Table("t", size, dtype=dtype)
    blocks = cut(table, hosts, 1024)
    place = 0
    for owner, block in enumerate(blocks):
        assert [piece.index for piece in block] == list(range(len(block)))
        for piece in block:
            assert piece.owner == owner
            assert piece.start == place
            assert piece.size * (4 if dtype == "float32" else 8) <= 1024
            place = piece.stop
    assert place == table.elements


def test_an_owner_without_rows_has_an_empty_piece_so_that_it_still_has_clocks():
    blocks = cut(Table("t", 1), 3)
    assert [[piece.size for piece in block] for block in blocks] == [[128], [0], [0]]


def test_a_table_that_all_compute_is_one_piece():
    blocks = cut_whole(Table("t", 300), 3)
    assert [[(p.index, p.start, p.stop) for p in block] for block in blocks] == [
        [(0, 0, 384)],
        [],
        [],
    ]


@pytest.mark.parametrize(
    ("table", "rule", "clip", "exact", "expected"),
    [
        (Table("t", 1024), "add", -1.0, True, True),
        (Table("t", 1025), "add", -1.0, True, False),  # 9 rows: more than 4096 bytes
        (Table("t", 1, slack=1), "add", -1.0, True, False),
        (Table("t", 1, slack=ASYNC), "add", -1.0, True, False),
        (Table("t", 1), "add", -1.0, False, False),
        (Table("t", 1), "SGD", 5.0, True, False),
        (Table("t", 1), "SGD", -1.0, True, True),
    ],
)
def test_all_compute_small_tables_that_workers_wait_for(
    table, rule, clip, exact, expected
):
    scheme = Scheme((table,), rule, hyper=Hyper(rate=0.1, clip_gradients=clip))
    assert is_whole(scheme, 0, exact) == expected
