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


@pytest.mark.parametrize("text", ["", "public abc\nsecret def\n", "public\n"])
def test_a_file_without_a_key_is_refused(tmp_path, text):
    path = tmp_path / "cluster.key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(InputError, match="geeps-caffe keygen"):
        read_key(path)


@pytest.mark.parametrize("words", [[], ["a", "b"], ["-x"]])
def test_one_file_must_be_named(words):
    with pytest.raises(UsageError):
        main(words)
