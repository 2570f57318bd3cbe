import os
import sys
from pathlib import Path

import numpy as np
import pytest

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.fixture
def golden():
    """The folder with what the real Caffe was seen to compute."""
    return GOLDEN


@pytest.fixture
def corpus():
    """Real prototxts, weights and data sets, where GEEPS_CAFFE_CORPUS names them."""
    place = os.environ.get("GEEPS_CAFFE_CORPUS")
    if not place:
        pytest.skip("GEEPS_CAFFE_CORPUS is not set: real files are not at hand")
    return Path(place)


@pytest.fixture(scope="session", autouse=True)
def processes_share_what_they_compile(tmp_path_factory):
    """Where Python keeps no bytecode, each of hundreds would compile all modules."""
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("PYTHONDONTWRITEBYTECODE"):
            patch.delenv("PYTHONDONTWRITEBYTECODE")
            place = tmp_path_factory.mktemp("compiled")
            patch.setenv("PYTHONPYCACHEPREFIX", str(place))
        yield


@pytest.fixture(autouse=True)
def users_modules_are_forgotten(tmp_path_factory):
    """Python layers that a test wrote into its folder are no one else's."""
    yield
    folder = str(tmp_path_factory.getbasetemp())
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__dict__", {}).get("__file__")).startswith(folder):
            del sys.modules[name]
