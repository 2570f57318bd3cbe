"""The displayed loss: the mean of the last `average_loss` iterations."""

from geeps_caffe.errors import InputError


class SmoothedLoss:
    """Caffe's UpdateSmoothedLoss; `value` is the mean of at most `width` losses.

    Raises:
        InputError: there is no mean of fewer than one.
    """

    def __init__(self, width: int) -> None:
        if width < 1:
            raise InputError(f"average_loss is {width}; it must be at least 1")
        self.width = width
        self.value = 0.0
        self._losses: list[float] = []
        self._next = 0

    def add(self, loss: float) -> None:
        """Take the loss of one more iteration."""
        if len(self._losses) < self.width:
            self._losses.append(loss)
            size = len(self._losses)
            self.value = (self.value * (size - 1) + loss) / size
            return
        oldest = self._losses[self._next]
        self.value += (loss - oldest) / self.width
        self._losses[self._next] = loss
        self._next = (self._next + 1) % self.width
