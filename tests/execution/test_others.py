"""What workers exchange besides gradients: statistics, counts of labels, tests."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

from geeps_caffe.config.job import RunSettings
from geeps_caffe.errors import LayerError, UsageError
from tests.cuda_double.fixtures import double
from tests.execution.recordings import inside
from tests.execution.workers import largest_difference, train, train_alone

__all__ = ["double"]

RECORDS = 60
NET = """
layer {{ name: "data" type: "HDF5Data" top: "data" top: "label" top: "target"
  hdf5_data_param {{ source: "list.txt" batch_size: 12 }} include {{ phase: TRAIN }} }}
layer {{ name: "data" type: "HDF5Data" top: "data" top: "label" top: "target"
  hdf5_data_param {{ source: "list.txt" batch_size: 7 }} include {{ phase: TEST }} }}
layer {{ name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param {{ num_output: 4 kernel_size: 3 bias_term: false
    weight_filler {{ type: "xavier" }} }} }}
{normalization}
layer {{ name: "relu" type: "ReLU" bottom: "conv" top: "conv" }}
layer {{ name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
  inner_product_param {{ num_output: 3 weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label"
  loss_param {{ ignore_label: 2 }} }}
layer {{ name: "other" type: "SigmoidCrossEntropyLoss" bottom: "ip" bottom: "target"
  loss_weight: 0.5 loss_param {{ ignore_label: -1 normalization: VALID }}
  top: "other" }}
layer {{ name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label"
  top: "accuracy" include {{ phase: TEST }} }}
"""
NORM = """
layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "scale" type: "Scale" bottom: "conv" top: "conv"
  scale_param { bias_term: true } }
"""
SOLVER = """
net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" momentum: 0.9 max_iter: 20
weight_decay: 0.01 snapshot_prefix: "snap" test_iter: 5 test_interval: 100
"""


@pytest.fixture(autouse=True)
def place(tmp_path):
    rng = np.random.default_rng(3)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["data"] = rng.standard_normal((RECORDS, 2, 6, 6))
        file["label"] = np.minimum(rng.integers(0, 5, RECORDS), 2)  # 2 is ignored
        file["target"] = rng.integers(-1, 2, (RECORDS, 3))
    (tmp_path / "list.txt").write_text("data.h5\n")
    write(tmp_path)
    with inside(tmp_path):
        yield tmp_path


def write(folder, normalization=NORM, solver=""):
    net = NET.format(normalization=normalization)
    (folder / "net.prototxt").write_text(net)
    (folder / "solver.prototxt").write_text(SOLVER + solver)


def settings_for(seed=1, **more):
    def settings(rank, ranks):
        return RunSettings(
            engine="reference",
            dtype="float64",
            seed=seed,
            rank=rank,
            ranks=ranks,
            batch_mode="global",
            **more,
        )

    return settings


def together(ranks, work, **more):
    return train("solver.prototxt", settings_for(**more), ranks, work)


def alone(work, **more):
    return train_alone("solver.prototxt", settings_for(**more), work)


def ten_steps(trainer):
    trainer.step(10)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("solver", ["", "iter_size: 2", "clip_gradients: 0.1"])
def test_losses_that_count_labels_give_the_gradient_of_one_batch(place, ranks, solver):
    write(place, normalization="", solver=solver)
    assert largest_difference(alone(ten_steps), together(ranks, ten_steps)) < 1e-9


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("solver", ["", "iter_size: 2"])
def test_synced_statistics_are_those_of_one_batch(place, ranks, solver):
    write(place, solver=solver)
    both = together(ranks, ten_steps, batchnorm="sync")
    assert largest_difference(alone(ten_steps), both) < 1e-9


@pytest.mark.usefixtures("double")
def test_synced_statistics_of_a_gpu_are_those_of_one_batch():
    """The other worker computes on the CPU."""

    def settings(rank, ranks):
        made = settings_for(batchnorm="sync", plain_tables=True)(rank, ranks)
        engine = ("reference", "cuda")[rank]
        return replace(made, engine=engine, dtype="float32", threads=1)

    both = train("solver.prototxt", settings, 2, ten_steps)
    assert largest_difference(alone(ten_steps), both) < 1e-4


def test_local_statistics_are_each_ranks_own_until_they_are_averaged():
    seen = {}

    def work(trainer):
        trainer.step(3)
        rank = trainer.settings.rank
        own = np.array(trainer.net.param("bn/0"))
        trainer.training.settle()
        seen[rank] = own, np.array(trainer.net.param("bn/0"))

    together(2, work)
    (first, mean), (second, other) = seen[0], seen[1]
    assert np.abs(first - second).max() > 1e-6
    np.testing.assert_allclose(mean, (first + second) / 2)
    np.testing.assert_array_equal(mean, other)


def test_a_snapshot_has_the_statistics_of_all_ranks(place):
    seen = {}

    def work(trainer):
        trainer.solver.max_iter = 3
        trainer.solve()
        seen[trainer.settings.rank] = np.array(trainer.net.param("bn/1"))

    together(2, work)

    def load(trainer):
        trainer.finetune("snap_iter_3.caffemodel")
        return np.array(trainer.net.param("bn/1"))

    found = []
    alone(lambda trainer: found.append(load(trainer)))
    for statistics in seen.values():
        np.testing.assert_allclose(found[0], statistics, 1e-6)


def test_two_workers_go_on_from_a_snapshot_as_if_unbroken(place):
    write(place, normalization="", solver="snapshot: 4 snapshot_after_train: false")

    def whole(trainer):
        trainer.step(9)

    def resumed(trainer):
        trainer.restore("snap_iter_4.solverstate")
        trainer.step(5)

    for update in ("shard", "worker"):
        unbroken = together(2, whole, update=update)
        assert (place / "snap_iter_4.solverstate.1").exists() == (update == "worker")
        gone_on = together(2, resumed, update=update)
        # the files hold floats
        assert largest_difference(unbroken, gone_on) < 1e-6


def test_histories_of_other_numbers_of_workers_are_not_taken_for_these(place):
    write(place, normalization="", solver="snapshot: 4 snapshot_after_train: false")
    seen = {}

    def four(trainer):
        trainer.step(4)

    def restored(trainer):
        trainer.restore("snap_iter_4.solverstate")
        history = trainer.training.history().blobs()
        seen[trainer.settings.rank] = np.concatenate([b.ravel() for b in history])

    together(3, four, update="worker")
    together(3, restored, update="worker")
    own = dict(seen)
    assert np.abs(own[0] - own[1]).max() > 1e-6
    together(2, restored, update="worker")
    np.testing.assert_array_equal(seen[1], own[0])  # not that of rank 1 of 3
    together(2, four)  # one history, beside files of the run before
    together(2, restored, update="worker")
    np.testing.assert_array_equal(seen[1], seen[0])


@pytest.mark.parametrize("kind", ["SGD", "Nesterov"])
@pytest.mark.parametrize("more", ["", "iter_size: 2"])
def test_a_rule_that_workers_run_is_that_of_one_worker(place, kind, more):
    write(place, normalization="", solver=f'type: "{kind}" {more}')
    by_workers = together(3, ten_steps, update="worker")
    assert largest_difference(alone(ten_steps), by_workers) < 1e-9
    assert largest_difference(alone(ten_steps, update="worker"), by_workers) < 1e-9


def test_workers_that_run_the_rule_can_not_clip_together(place):
    write(place, solver="clip_gradients: 1")
    with pytest.raises(UsageError, match="give -update shard"):
        alone(ten_steps, update="worker")


RECURRENT = """
layer { name: "data" type: "HDF5Data" top: "steps" top: "cont"
  hdf5_data_param { source: "steps.txt" batch_size: 4 } include { phase: TEST } }
layer { name: "train" type: "DummyData" top: "steps" top: "cont" dummy_data_param {
  shape { dim: 4 dim: 2 dim: 3 } shape { dim: 4 dim: 2 } } include { phase: TRAIN } }
layer { name: "lstm" type: "LSTM" bottom: "steps" bottom: "cont" top: "lstm"
  recurrent_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "sum" type: "Reduction" bottom: "lstm" top: "sum" loss_weight: 1 }
"""


def test_a_test_whose_states_go_on_from_batch_to_batch_is_that_of_one_worker(place):
    """A sequence longer than a batch: whoever tests the second needs the first."""
    rng = np.random.default_rng(3)
    with h5py.File(place / "steps.h5", "w") as file:
        file["steps"] = rng.standard_normal((20, 2, 3))
        file["cont"] = np.ones((20, 2))
    (place / "steps.txt").write_text("steps.h5\n")
    (place / "net.prototxt").write_text(RECURRENT)
    seen = {}

    def work(trainer):
        trainer.report = seen.setdefault(trainer.settings.ranks, []).append
        trainer.test_all()

    alone(work)
    together(2, work)
    (one,), (two,) = ([r for r in seen[n] if getattr(r, "outputs", ())] for n in (1, 2))
    assert two == one


@pytest.mark.parametrize("test_on", ["all", "first"])
@pytest.mark.parametrize("ranks", [2, 3, 7])
def test_a_test_on_several_ranks_is_that_of_one_to_the_last_bit(ranks, test_on):
    def tests_twice(seen):
        def work(trainer):
            trainer.solver.test_compute_loss = True
            told = []
            trainer.report = told.append
            trainer.test_all()
            trainer.test_all()  # goes on where the first ended
            seen[trainer.settings.rank] = [t for t in told if hasattr(t, "outputs")]

        return work

    one, many = {}, {}
    alone(tests_twice(one))
    settings = settings_for(test_on=test_on)
    write_batch_of(ranks)
    train("solver.prototxt", settings, ranks, tests_twice(many))
    assert many[0] == one[0]
    assert len(one[0]) == 2
    assert one[0][0] != one[0][1]
    if test_on == "all":
        assert many[ranks - 1] == one[0]


@pytest.mark.parametrize(("ranks", "batches"), [(1, 5), (2, 5), (2, 2)])
def test_outputs_of_a_size_that_depends_on_the_batch_have_no_mean(ranks, batches):
    """The labels of 7 records without those that are 0, of which the first has 4."""
    with h5py.File("data.h5", "r+") as file:
        file["label"][...] = np.arange(RECORDS) >= 4
    with open("net.prototxt", "a") as file:
        file.write(
            'layer { name: "f" type: "Filter" bottom: "label" bottom: "label" '
            'top: "few" include { phase: TEST } }'
        )
    with open("solver.prototxt", "r+") as file:
        text = file.read().replace("test_iter: 5", f"test_iter: {batches}")
        file.seek(0)
        file.write(text)
    with pytest.raises(LayerError, match=r"no mean of an output.*'few'.*Silence"):
        together(ranks, lambda trainer: trainer.test_all())


def write_batch_of(ranks):
    """A training batch that divides among so many."""
    with open("net.prototxt", "r+") as file:
        text = file.read().replace("batch_size: 12", f"batch_size: {ranks}")
        file.seek(0)
        file.write(text)
        file.truncate()


def test_without_a_seed_all_ranks_take_that_of_rank_0():
    seeds = {}

    def work(trainer):
        seeds[trainer.settings.rank] = trainer.training.seed

    train("solver.prototxt", settings_for(seed=None), 3, work)
    assert len(seeds) == 3
    assert len(set(seeds.values())) == 1


def test_synced_statistics_and_slack_exclude_each_other():
    with pytest.raises(UsageError, match="-slack 0"):
        together(2, ten_steps, batchnorm="sync", slack=1)
