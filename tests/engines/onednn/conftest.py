import pytest

from geeps_caffe.engines.onednn.engine import OneDnnEngine
from geeps_caffe.engines.onednn.library import OneDnnMissing


@pytest.fixture(scope="session")
def engine():
    try:
        return OneDnnEngine(2)
    except OneDnnMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def api(engine):
    return engine.kit.api
