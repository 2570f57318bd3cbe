"""Several trainers of one job as threads of this process."""

import threading

import numpy as np

import prototxt
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.paramserver import Client
from geeps_caffe.paramserver.remote import RemoteStore
from geeps_caffe.paramserver.transport.inproc import InprocHost

PATIENCE = 120  # seconds until a stuck test is called so


def train(solver, settings, ranks, work):
    """Run `work(trainer)` on each rank; returns rank 0's weights by param key."""
    host = InprocHost(ranks)
    weights, faults = {}, []

    def run(rank):
        client = Client(RemoteStore(host.link(rank), rank, ranks))
        try:
            message = prototxt.read_solver(solver).message
            trainer = Trainer(message, solver, settings(rank, ranks), client=client)
            work(trainer)
            trainer.training.settle()
            if rank == 0:
                weights.update(weights_of(trainer))
            trainer.close()
        except BaseException as error:
            faults.append(error)
            client.shutdown(failed=True)
            host.lose(rank, str(error))

    threads = [
        threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(ranks)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a worker is stuck"
    if faults:
        raise faults[0]
    return weights


def train_alone(solver, settings, work):
    """The same with one worker and its own store."""
    message = prototxt.read_solver(solver).message
    trainer = Trainer(message, solver, settings(0, 1))
    work(trainer)
    weights = weights_of(trainer)
    trainer.close()
    return weights


def weights_of(trainer):
    """Copies of all params, by key."""
    return {key: np.array(trainer.net.param(key)) for key in trainer.net.graph.params}


def largest_difference(one, other):
    """The largest difference relative to each blob's largest weight."""
    return max(
        float(np.abs(one[key] - other[key]).max() / max(np.abs(one[key]).max(), 1e-30))
        for key in one
    )
