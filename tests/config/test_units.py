import pytest

from geeps_caffe.config.units import Amount, parse_amount
from geeps_caffe.errors import UsageError


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("4200000000", 4200000000),
        ("3GB", 3 * 10**9),
        ("3g", 3 * 10**9),
        ("1.5 MB", 1500000),
        ("512MiB", 512 << 20),
        ("2Ki", 2048),
        ("7B", 7),
    ],
)
def test_amounts_in_bytes(text, nbytes):
    assert parse_amount(text) == Amount(bytes=nbytes)


def test_a_share_is_of_what_would_be_used():
    assert parse_amount("25%").of(1000) == 250
    assert parse_amount("1kB").of(5) == 1000


@pytest.mark.parametrize("text", ["", "0", "much", "-1GB", "3XB", "0%", "120%", "x%"])
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(UsageError, match=r"expected such as 3GB|at most 100%"):
        parse_amount(text)
