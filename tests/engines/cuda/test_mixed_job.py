"""One worker on an emulated GPU and one on the CPU train as one process alone."""

import pytest

from geeps_caffe.config.job import RunSettings
from tests.cuda_double.fixtures import double
from tests.execution.test_workers import place, ten_steps
from tests.execution.workers import largest_difference, train, train_alone

__all__ = ["double", "place"]

GPU, CPU = "cuda", "onednn"
JOBS = [
    ("SGD__mom09_wdL2", (CPU, GPU)),
    ("Adam__mults_wdL2", (GPU, CPU)),
    ("Nesterov__clip_iter2_step", (GPU, CPU)),
]


def settings_for(engines):
    def settings(rank, ranks):
        return RunSettings(
            engine=engines[rank],
            threads=1,
            seed=1,
            rank=rank,
            ranks=ranks,
            batch_mode="global",
        )

    return settings


@pytest.mark.usefixtures("double", "place")
@pytest.mark.parametrize(("case", "engines"), JOBS)
def test_the_weights_are_those_of_one_process(case, engines):
    solver = f"{case}/solver.prototxt"
    alone = train_alone(solver, settings_for(["onednn"]), ten_steps(case))
    together = train(solver, settings_for(engines), 2, ten_steps(case))
    assert largest_difference(alone, together) < 1e-5
