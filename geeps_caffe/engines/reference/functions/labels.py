"""Labels as whole numbers, and the scores that they name."""

from geeps_caffe.device.array import Array, ArrayModule


def whole_labels(
    xp: ArrayModule, labels: Array, ignored: int | None
) -> tuple[Array, Array]:
    """Integer labels, and which of them count; ignored labels read as 0."""
    whole = labels.astype(int)
    if ignored is None:
        return whole, xp.ones(whole.shape, bool)
    counted = whole != ignored
    return xp.where(counted, whole, 0), counted


def name_classes(labels: Array, classes: int) -> bool:
    """Whether all labels name a class."""
    return not labels.size or bool(0 <= labels.min() <= labels.max() < classes)


def picked(xp: ArrayModule, scores: Array, labels: Array) -> Array:
    """The score of each item's own class, of shape (outer, inner)."""
    chosen: Array = xp.take_along_axis(scores, labels[:, None, :], axis=1)[:, 0, :]
    return chosen


def add_to_picked(
    xp: ArrayModule, scores: Array, labels: Array, value: Array | float
) -> None:
    """Add to the score of each item's own class."""
    outer, inner = labels.shape
    scores[xp.arange(outer)[:, None], labels, xp.arange(inner)] += value
