"""Every recorded case of layers and small nets, as a planned net on each engine."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.execution.recordings import check_recording, inside

FOLDER = Path(__file__).parents[1] / "golden" / "layers"
ENGINES = ("reference", "onednn")
#: These depend on the random stream of the real Caffe; see test_random.
SEEDED = [p.name for p in FOLDER.glob("*.npz") if "random_seed" in np.load(p).files]
CASES = sorted(p.name for p in FOLDER.glob("*.npz") if p.name not in SEEDED)


@pytest.fixture
def beside_files(corpus, tmp_path, monkeypatch):
    """The folder in which the real Caffe ran, as a copy."""
    files = tmp_path / "files"
    shutil.copytree(corpus / "golden" / "files", files)
    for path in (files, *files.iterdir()):
        path.chmod(0o755)
    monkeypatch.syspath_prepend(str(files))
    return tmp_path


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_case(name, engine, tmp_path, request):
    path = FOLDER / name
    if "files/" not in str(np.load(path)["prototxt"]) and "Python" not in name:
        check_recording(path, engine, tmp_path)
        return
    with inside(request.getfixturevalue("beside_files")):
        check_recording(path, engine, tmp_path)
