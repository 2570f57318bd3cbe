import socket

import pytest

from geeps_caffe.config.machine_file import (
    Machine,
    given_worker,
    own_line,
    read_machine_file,
)
from geeps_caffe.errors import InputError, UsageError


@pytest.fixture
def read(tmp_path):
    def write_and_read(text):
        path = tmp_path / "machines"
        path.write_text(text)
        return read_machine_file(str(path))

    return write_and_read


def test_a_line_is_a_host_and_a_repeated_host_has_the_next_port(read):
    assert read("h0\n\n# more\nh1:7000  # fast\nh0\n") == (
        Machine("h0", 9090),
        Machine("h1", 7000),
        Machine("h0", 9091),
    )


def test_files_of_other_systems_and_numbers_of_ipv6_are_read(read):
    assert read(
        "\ufeffh0\r\n  h1:7 \r\n[::1]:8\n[::1]\nfe80::1%eth0\n10.0.0.1:9\n"
    ) == (
        Machine("h0", 9090),
        Machine("h1", 7),
        Machine("::1", 8),
        Machine("::1", 9091),
        Machine("fe80::1%eth0", 9090),
        Machine("10.0.0.1", 9),
    )


@pytest.mark.parametrize("text", ["h:1\nh:1\n", "h\nh\nh:9091\n", "[::1]:5\n[::1]:5\n"])
def test_a_port_that_two_agents_would_have_is_refused_with_both_lines(read, text):
    with pytest.raises(InputError, match=r"machines:\d: .* in .*machines:\d too"):
        read(text)


@pytest.mark.parametrize("port", ["0", "65536", "99999"])
def test_a_port_that_is_none_is_refused(read, port):
    with pytest.raises(InputError, match=f"{port} is no port; expected 1 to 65535"):
        read(f"h0:{port}\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nobody\n",
        "h0:x\n",
        "h0 slots=2\n",
        "a,b\n",
        "a:b:c\n",
        "-x\n",
        "a\x00\n",
        "[a]\n",
        "[::1\n",
        "http://a\n",
        "*\n",
        ":9090\n",
        "a:\n",
    ],
)
def test_files_without_hosts_are_refused(read, text):
    with pytest.raises(InputError, match="machines"):
        read(text)


def test_the_line_is_given_or_the_only_one_or_the_one_with_this_name(read):
    here = socket.gethostname()
    assert own_line(read("a\nb\n"), 1) == 1
    assert own_line(read("127.0.0.1\n"), None) == 0
    assert own_line(read(f"a\n{here}\n"), None) == 1
    with pytest.raises(UsageError, match="give -worker_id"):
        own_line(read("a\nb\n"), None)
    with pytest.raises(UsageError, match="2 lines"):
        own_line(read("a\nb\n"), 2)


def test_launchers_give_the_worker_id():
    assert given_worker(3, {"RANK": "1"}) == 3
    assert given_worker(-1, {"RANK": "1"}) == 1
    assert given_worker(-1, {"SLURM_PROCID": "2"}) == 2
    assert given_worker(-1, {}) is None
