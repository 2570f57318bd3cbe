"""What an update rule is: from a gradient to what is subtracted from the weights."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from geeps_caffe.device.array import Array
from geeps_caffe.solvers.hyper import Hyper


class Rule(ABC):
    """Element-wise arithmetic on a gradient and its history; it holds no state.

    All rules keep 0 at 0: where gradient, weight and history are 0, so is the update.
    That lets weights be stored in layouts padded with zeros.
    """

    type_name: ClassVar[str]  # as in SolverParameter.type
    slots: ClassVar[tuple[str, ...]]  # history arrays, in the order of a solverstate

    def check(self, hyper: Hyper) -> None:  # noqa: B027 - most rules take all values
        """Refuse values that the rule can't use.

        Raises:
            InputError: says which field, and what it may be.
        """

    @abstractmethod
    def update(
        self,
        grad: Array,
        slots: Sequence[Array],
        hyper: Hyper,
        out: Array,
        spare: Array,
    ) -> Array:
        """Advance the history by one step and return what the weights lose.

        Args:
            grad: the gradient, normalized and regularized; kept as it is.
            slots: the rule's history arrays, changed in place.
            hyper: `rate` is the blob's own, lr_mult included.
            out: another array of that size, to be overwritten.
            spare: a third, for intermediate values.

        Returns:
            `out`, or a slot where that already holds the result. It is read at once.
        """
