import pytest

from geeps_caffe.engines.engine import Layout, plain_layout
from geeps_caffe.engines.onednn.layouts import Layouts, View, is_plain, spell, view
from geeps_caffe.engines.onednn.library import OneDnnError


def tagged(api, name, dims):
    return Layouts(api).own(Layout(name, 0), dims)


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("aBcd16b", (2, 20, 3, 4)),
        ("acdb", (2, 20, 3, 4)),
        ("ABcd16b16a", (32, 17, 5, 5)),
        ("ABcd8b16a2b", (32, 17, 5, 5)),
        ("aBCde16c16b", (2, 32, 16, 3, 3)),
        ("ba", (5, 7)),
        ("AB16b64a", (100, 70)),
    ],
)
def test_the_name_is_onednns_own(api, name, dims):
    assert spell(tagged(api, name, dims)) == name


def test_bytes_include_the_padding(api):
    layout = Layouts(api).name(
        tagged(api, "aBcd16b", (2, 20, 3, 4)), view((2, 20, 3, 4))
    )
    assert layout == Layout("aBcd16b", 4 * 2 * 32 * 3 * 4)


@pytest.mark.parametrize(
    ("name", "dims", "plain"),
    [
        ("abcd", (2, 3, 4, 5), True),
        ("acdb", (2, 3, 1, 1), True),
        ("acdb", (2, 1, 4, 5), True),
        ("acdb", (2, 3, 1, 2), False),
        ("aBcd16b", (2, 16, 1, 1), True),
        ("aBcd16b", (2, 32, 1, 1), True),
        ("aBcd16b", (2, 17, 1, 1), False),
        ("aBcd16b", (2, 16, 1, 2), False),
        ("ba", (1, 9), True),
        ("ba", (2, 9), False),
    ],
)
def test_c_order_is_plain_by_any_other_name(api, name, dims, plain):
    assert is_plain(tagged(api, name, dims)) == plain
    layout = Layouts(api).name(tagged(api, name, dims), view(dims))
    assert (layout == plain_layout(dims)) == plain


def test_a_reshape_stands_before_the_letters(api):
    weights = View((64, 16, 3, 3), (2, 32, 16, 3, 3))
    md = tagged(api, "aBCde16c16b", weights.dims)
    assert Layouts(api).name(md, weights).name == "2x32x16x3x3:aBCde16c16b"


def test_letters_are_the_arrays_own_axes_where_onednn_sees_them_swapped(api):
    transposed = View((70, 100), (70, 100), swap=(0, 1))
    md = tagged(api, "AB16b64a", (100, 70))
    assert Layouts(api).name(md, transposed).name == "BA16a64b"


def test_a_name_is_enough_to_find_the_layout_again(api):
    weights = View((64, 16, 3, 3), (2, 32, 16, 3, 3))
    md = tagged(api, "aBCde16c16b", weights.dims)
    layout = Layouts(api).name(md, weights)
    elsewhere = Layouts(api)
    assert elsewhere.find(layout, weights).same(md)
    assert elsewhere.find(layout, view(weights.shape)) is None


def test_padding_and_strides_of_its_own_are_in_the_name(api):
    assert spell(api.strided((2, 3), (8, 1))) == "ab@8x1"


@pytest.mark.parametrize("name", ["aBcd17b", "2x2:ab", "nonsense"])
def test_an_unknown_name_is_refused(api, name):
    with pytest.raises(OneDnnError, match=f"no layout '{name}' for an array of shape"):
        Layouts(api).own(Layout(name, 0), (2, 3, 4, 5))


@pytest.mark.parametrize("name", ["AB16b32a", "AB16b16a"])
def test_rows_that_are_whole_blocks_lie_together(api, name):
    layouts = Layouts(api)
    whole = layouts.name(tagged(api, name, (96, 40)), view((96, 40)))
    found = layouts.rows((96, 40), whole, 32)
    assert (found.name, 3 * found.nbytes) == (name, whole.nbytes)
    assert layouts.rows((96, 40), whole, 24) is None
    assert layouts.rows((96, 40), whole, 128) is None


def test_rows_do_not_lie_together_inside_of_another_axis(api):
    layouts = Layouts(api)
    whole = layouts.name(tagged(api, "BA16a16b", (96, 40)), view((96, 40)))
    assert layouts.rows((96, 40), whole, 32) is None
