"""Caffe's solvers: update rules, learning-rate policies, what happens to gradients.

Nothing here knows nets or files. The order of one update is Caffe's: clip the norm of
all gradients, divide by iter_size, add the weight decay, apply the rule, subtract.
"""

from collections.abc import Mapping

from geeps_caffe.errors import InputError, unknown
from geeps_caffe.solvers.adadelta import AdaDelta
from geeps_caffe.solvers.adagrad import AdaGrad
from geeps_caffe.solvers.adam import Adam
from geeps_caffe.solvers.gradients import Clipping, clip, normalization, sum_of_squares
from geeps_caffe.solvers.hyper import Hyper, read_hyper
from geeps_caffe.solvers.nesterov import Nesterov
from geeps_caffe.solvers.rates import POLICIES, Start, current_step, learning_rate
from geeps_caffe.solvers.rmsprop import RMSProp
from geeps_caffe.solvers.rule import Rule
from geeps_caffe.solvers.sgd import SGD
from geeps_caffe.solvers.updater import Updater

__all__ = [
    "POLICIES",
    "RULES",
    "SGD",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "Clipping",
    "Hyper",
    "Nesterov",
    "RMSProp",
    "Rule",
    "Start",
    "Updater",
    "clip",
    "current_step",
    "find_rule",
    "learning_rate",
    "normalization",
    "read_hyper",
    "sum_of_squares",
]

RULES: Mapping[str, type[Rule]] = {
    rule.type_name: rule for rule in (SGD, Nesterov, AdaGrad, RMSProp, AdaDelta, Adam)
}


def find_rule(type_name: str) -> Rule:
    """The rule of a SolverParameter's `type`, in any case.

    >>> find_rule("ADAGRAD").type_name
    'AdaGrad'

    Raises:
        InputError: there is none; the nearest name is offered.
    """
    for name, rule in RULES.items():
        if name.lower() == type_name.lower():
            return rule()
    raise InputError(unknown("solver type", type_name, RULES))
