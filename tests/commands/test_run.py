import sys

import pytest

from geeps_caffe.commands.run import main
from geeps_caffe.errors import InputError, UsageError


def write(folder, text):
    path = folder / "script.py"
    path.write_text(text)
    return str(path)


def test_a_script_of_pycaffe_runs_as_it_is(job, capsys):
    script = write(
        job,
        "import caffe\n"
        "from caffe import SGDSolver\n"
        "caffe.set_mode_cpu()\n"
        "solver = SGDSolver('solver.prototxt')\n"
        "solver.step(1)\n"
        "print(solver.iter, solver.net.blobs['ip'].data.shape)\n",
    )
    assert main([script]) == 0
    assert capsys.readouterr().out == "1 (4, 2)\n"
    assert "caffe" not in sys.modules


def test_both_names_are_one_module(tmp_path, capsys):
    script = write(
        tmp_path,
        "import caffe, caffe.net, geeps_caffe.caffe.net\n"
        "print(caffe.net is geeps_caffe.caffe.net, caffe.net.__spec__.name)\n",
    )
    assert main([script]) == 0
    assert capsys.readouterr().out == "True geeps_caffe.caffe.net\n"


def test_the_script_has_its_arguments_and_its_folder(tmp_path, capsys):
    (tmp_path / "beside.py").write_text("NAME = 'beside'\n")
    script = write(
        tmp_path, "import sys, beside\nprint(sys.argv[1:], beside.NAME, __name__)\n"
    )
    assert main([script, "--gpu", "0"]) == 0
    assert capsys.readouterr().out == "['--gpu', '0'] beside __main__\n"
    assert str(tmp_path) not in sys.path


def test_an_exception_of_the_script_is_shown_as_python_does(tmp_path, capsys):
    assert main([write(tmp_path, "raise ValueError('mine')\n")]) == 1
    error = capsys.readouterr().err
    assert "ValueError: mine" in error
    assert "fault of geeps-caffe" not in error


def test_a_module_that_caffe_has_and_we_have_not_is_named(tmp_path, capsys):
    assert main([write(tmp_path, "import caffe.nosuch\n")]) == 1
    assert "geeps-caffe has no module 'caffe.nosuch'" in capsys.readouterr().err


def test_the_scripts_exit_code_is_kept(tmp_path):
    with pytest.raises(SystemExit) as exit_code:
        main([write(tmp_path, "raise SystemExit(3)\n")])
    assert exit_code.value.code == 3


def test_a_script_is_needed(tmp_path):
    with pytest.raises(UsageError, match="give a script"):
        main([])
    with pytest.raises(InputError, match="no such script"):
        main([str(tmp_path / "absent.py")])
