"""Every recorded case of layers and small nets, as a planned net on each engine."""

import shutil

import pytest

from tests.execution.recordings import (
    FOLDER,
    check_masked_recording,
    check_recording,
    inside,
    needs_files,
    recorded_cases,
)

ENGINES = ("reference", "onednn")
CASES = recorded_cases()
MASKED = FOLDER / "Dropout__train_seeded.npz"


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
    if not needs_files(name):
        check_recording(path, engine, tmp_path)
        return
    with inside(request.getfixturevalue("beside_files")):
        check_recording(path, engine, tmp_path)


@pytest.mark.parametrize("engine", ENGINES)
def test_dropout_recorded_in_training_differs_in_its_mask_only(engine, tmp_path):
    check_masked_recording(MASKED, engine, tmp_path)
