"""Scores of classes along an axis, and labels that name one class for each item."""

from dataclasses import dataclass
from typing import NoReturn

from geeps_caffe.device.array import Array, ArrayModule, Shape, Shapes, count
from geeps_caffe.engines.reference.functions import labels as definition
from geeps_caffe.errors import ItemError
from geeps_caffe.layers.base import Layer


@dataclass(frozen=True)
class ClassScores:
    """Scores as (outer, classes, inner), labels as (outer, inner)."""

    outer: int
    classes: int
    inner: int

    @property
    def items(self) -> int:
        """The number of labels."""
        return self.outer * self.inner

    def scores(self, array: Array) -> Array:
        """A view of scores, or of their diffs."""
        return array.reshape(self.outer, self.classes, self.inner)

    def items_of(self, array: Array) -> Array:
        """A view of labels."""
        return array.reshape(self.outer, self.inner)

    def labels(
        self, layer: Layer, xp: ArrayModule, array: Array, ignored: int | None
    ) -> tuple[Array, Array]:
        """Integer labels, and which of them count; ignored labels read as 0.

        Raises:
            LayerError: a label that names no class, with its value and position.
        """
        items = self.items_of(array)
        labels, counted = definition.whole_labels(xp, items, ignored)
        if not definition.name_classes(labels, self.classes):
            self._refuse(layer, xp, labels, array.shape)
        return labels, counted

    def refuse(
        self, layer: Layer, xp: ArrayModule, array: Array, ignored: int | None
    ) -> NoReturn:
        """The error of `labels`, for an array that is known to have one."""
        self.labels(layer, xp, array, ignored)
        raise AssertionError("all labels name a class")

    def _refuse(
        self, layer: Layer, xp: ArrayModule, labels: Array, shape: Shape
    ) -> None:
        wrong = ((labels < 0) | (labels >= self.classes)).reshape(-1)
        flat = int(xp.argmax(wrong))
        value, place, rest = int(labels.reshape(-1)[flat]), [], flat
        for extent in reversed(shape):
            place.append(rest % extent)
            rest //= extent
        raise ItemError(
            f"{layer.title}: label {value} at position {tuple(reversed(place))} of the "
            f"batch is out of range; with {self.classes} classes allowed are 0 to "
            f"{self.classes - 1}" + _other_labels(layer),
            bottom=1,
            item=place[-1] if place else 0,
        )

    def picked(self, xp: ArrayModule, scores: Array, labels: Array) -> Array:
        """The score of each item's own class, of shape (outer, inner)."""
        return definition.picked(xp, scores, labels)

    def add_to_picked(
        self, xp: ArrayModule, scores: Array, labels: Array, value: Array | float
    ) -> None:
        """Add to the score of each item's own class."""
        definition.add_to_picked(xp, scores, labels, value)


def _other_labels(layer: Layer) -> str:
    return (
        ""
        if layer.spec.loss_param.HasField("ignore_label")
        or layer.spec.accuracy_param.HasField("ignore_label")
        else " (labels that do not count are named by ignore_label)"
    )


def class_scores(layer: Layer, bottom: Shapes, axis: int) -> ClassScores:
    """How bottom[0] (scores, classes along `axis`) and bottom[1] (labels) lie."""
    shape = bottom[0]
    axis = layer.axis(axis, len(shape))
    found = ClassScores(count(shape[:axis]), shape[axis], count(shape[axis + 1 :]))
    if count(bottom[1]) != found.items:
        layer.fail(
            f"bottom[1] has {count(bottom[1])} labels (shape {bottom[1]}) for "
            f"{found.items} predictions; bottom[0] has shape {shape}, its axis {axis} "
            "holds the classes and each other element needs a label"
        )
    return found


def scores_of_records(layer: Layer, bottom: Shapes) -> ClassScores:
    """The same for layers that take all axes but the first as classes."""
    records = bottom[0][0] if bottom[0] else 1
    if count(bottom[1]) != records:
        layer.fail(
            f"bottom[1] has {count(bottom[1])} labels (shape {bottom[1]}); expected "
            f"one for each of the {records} records of bottom[0]"
        )
    return ClassScores(records, count(bottom[0][1:]), 1)
