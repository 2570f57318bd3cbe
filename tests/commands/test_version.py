from geeps_caffe.commands.version import main
from geeps_caffe.version import VERSION


def test_the_version(capsys):
    assert main([]) == 0
    assert VERSION in capsys.readouterr().out


def test_verbose_has_what_a_bug_report_needs(capsys):
    assert main(["-verbose"]) == 0
    rows = dict(
        line.split(maxsplit=1)
        for line in capsys.readouterr().out.splitlines()
        if not line.startswith("onednn wheel")
    )
    assert rows["numpy"][0].isdigit()
    assert {"python", "protobuf", "opencv", "lmdb", "h5py"} <= set(rows)
    assert {"engine", "cpu", "cores", "gpu", "system"} <= set(rows)
