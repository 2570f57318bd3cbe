import pytest

from geeps_caffe.commands.keygen import main
from geeps_caffe.errors import InputError, UsageError
from geeps_caffe.paramserver.transport.keys import read_key

pytest.importorskip("zmq")


def test_a_key_is_written_for_its_owner_alone(tmp_path, capsys):
    path = tmp_path / "cluster.key"
    assert main([str(path)]) == 0
    assert path.stat().st_mode & 0o777 == 0o600
    key = read_key(path)
    assert len(key.public) == len(key.secret) == 40
    assert key.secret.decode() not in capsys.readouterr().out


def test_a_key_that_is_there_stays(tmp_path):
    path = tmp_path / "cluster.key"
    main([str(path)])
    before = path.read_bytes()
    with pytest.raises(InputError, match="File exists"):
        main([str(path)])
    assert path.read_bytes() == before


def test_a_key_that_others_may_read_is_refused(tmp_path):
    path = tmp_path / "cluster.key"
    main([str(path)])
    path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        read_key(path)


NO_KEYS = [
    "",
    "public abc\nsecret def\n",
    "public\n",
    f"public {'~' * 40}\nsecret {'~' * 40}\n",  # no characters of Z85
    f"public {'é' * 20}\nsecret {'é' * 20}\n",
]


@pytest.mark.parametrize("text", NO_KEYS)
def test_a_file_without_a_key_is_refused(tmp_path, text):
    path = tmp_path / "cluster.key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(InputError, match="geeps-caffe keygen"):
        read_key(path)


def test_halves_of_two_keys_are_none(tmp_path):
    main([str(tmp_path / "one")])
    main([str(tmp_path / "other")])
    public, secret = ((tmp_path / n).read_text().split("\n") for n in ("one", "other"))
    path = tmp_path / "both"
    path.write_text("\n".join([*public[:2], *secret[2:]]))
    path.chmod(0o600)
    with pytest.raises(InputError, match="no key of a cluster"):
        read_key(path)


@pytest.mark.parametrize("words", [[], ["a", "b"], ["-x"]])
def test_one_file_must_be_named(words):
    with pytest.raises(UsageError):
        main(words)
