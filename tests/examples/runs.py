"""Caffe's examples: their solvers, where they run, and how far their loss must fall."""

from dataclasses import dataclass

import numpy as np

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.execution import reports
from geeps_caffe.execution.trainer import Trainer
from tests.examples import places


@dataclass(frozen=True)
class Example:
    """A solver; `folder` is the working directory, as seen from Caffe's root."""

    solver: str
    place: str
    folder: str = "."
    bound: float = 0.7  # mean of the last 50 losses over that of the first 50


_MNIST = "examples/mnist/"
_CIFAR = "examples/cifar10/"
EXAMPLES = (
    Example(_MNIST + "lenet_solver.prototxt", "mnist"),
    Example(_MNIST + "lenet_adadelta_solver.prototxt", "mnist"),
    Example("mnist/lenet_auto_solver.prototxt", "mnist", "examples"),
    Example(_MNIST + "lenet_consolidated_solver.prototxt", "mnist"),
    Example(_MNIST + "lenet_multistep_solver.prototxt", "mnist"),
    Example(_MNIST + "lenet_solver_adam.prototxt", "mnist"),
    Example(_MNIST + "lenet_solver_rmsprop.prototxt", "mnist"),
    *(
        Example(_MNIST + f"mnist_autoencoder_solver{kind}.prototxt", "mnist", bound=0.9)
        for kind in ("", "_adadelta", "_adagrad", "_nesterov")
    ),
    Example("examples/siamese/mnist_siamese_solver.prototxt", "siamese"),
    Example("examples/hdf5_classification/train_val_solver.prototxt", "hdf5"),
    Example("examples/hdf5_classification/nonlinear_train_val_solver.prototxt", "hdf5"),
    Example("examples/pycaffe/linreg_solver.prototxt", "linreg"),
    Example(_CIFAR + "cifar10_full_solver.prototxt", "cifar10"),
    Example(_CIFAR + "cifar10_full_sigmoid_solver.prototxt", "cifar10"),
    Example(_CIFAR + "cifar10_full_sigmoid_solver_bn.prototxt", "cifar10"),
)


def lay_out(root, corpus, place, records=None):
    """Make one of the places that examples name, in an empty root."""
    if place == "mnist":
        places.mnist(root, corpus, records)
        places.write_auto_nets(root)
    elif place == "siamese":
        places.siamese(root, corpus, records)
    elif place == "hdf5":
        places.hdf5_classification(root, corpus)
        for net in ("train_val", "nonlinear_train_val"):
            places.write_hdf5_solver(root, net)
    elif place == "linreg":
        places.linreg(root, corpus)
    else:
        places.cifar10(root, corpus, records)


def losses_of(solver, iterations, settings=None, tests=None):
    """The losses of so many iterations, and the outputs of each test net after them.

    Run in the example's folder; the solver is changed in nothing but how long it runs
    and what it shows. `tests` are the most batches of each test net.
    """
    losses, tested = [], {}
    message = prototxt.read_solver(solver).message
    message.max_iter, message.display, message.average_loss = iterations, 1, 1
    if message.test_interval:
        message.test_interval = min(message.test_interval, iterations)
    if tests is not None:
        message.test_iter[:] = [min(count, tests) for count in message.test_iter]

    def report(value):
        if isinstance(value, reports.Displayed):
            losses.append(value.loss)
        elif isinstance(value, reports.Testing):
            tested[value.net] = None
        elif isinstance(value, reports.Tested):
            net = next(net for net, found in tested.items() if found is None)
            tested[net] = {o.name: o.value for o in value.outputs}

    trainer = Trainer(message, solver, settings or RunSettings(seed=1), report)
    trainer.solve()
    trainer.close()
    return losses[:iterations], tested


def fall(losses, width=50):
    """The mean of the last losses over that of the first ones."""
    return float(np.mean(losses[-width:]) / np.mean(losses[:width]))
