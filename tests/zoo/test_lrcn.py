from contextlib import chdir
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.lrcn import BOUND, CONFIGS, lay_out, losses_of
from geeps_caffe.config.job import RunSettings


def losses(name, iterations, corpus, folder):
    config = CONFIGS[name]
    tiny = {"frames": 2, "videos": 2, "size": [80, 107], "crop": 75}
    with chdir(folder):
        solver = lay_out(corpus, replace(config, clips=tiny))
        return losses_of(solver, iterations, RunSettings(engine="onednn", seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rgb", "rgb-from-scratch"])
def test_lrcn_learns_from_two_videos(name, corpus, tmp_path):
    found = losses(name, 130, corpus, tmp_path)
    assert np.mean(found[-20:]) <= BOUND * np.mean(found[:20])
