import pytest

from geeps_caffe.errors import InputError
from geeps_caffe.paramserver.transport.addresses import Address


@pytest.mark.parametrize("name", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_addresses_need_no_key(name):
    assert Address(name, 1).loopback


@pytest.mark.parametrize("name", ["10.0.0.1", "0.0.0.0", "host", "127.example", "::"])
def test_all_others_do(name):
    assert not Address(name, 1).loopback


def test_urls_are_zeromqs():
    assert Address("a", 9090).url == "tcp://a:9090"
    assert Address("::1", 9090).url == "tcp://[::1]:9090"


def test_a_name_that_nobody_knows_is_named():
    Address("127.0.0.1", 1).check()
    with pytest.raises(InputError, match=r"host 'no\.such\.invalid' is not known"):
        Address("no.such.invalid", 1).check()
