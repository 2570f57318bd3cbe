import pytest

from geeps_caffe.paramserver import Table
from geeps_caffe.paramserver.hosts.pieces import cut


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
