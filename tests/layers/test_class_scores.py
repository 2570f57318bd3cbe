import re

import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import run_layer

LABELLED = [
    "SoftmaxWithLoss",
    "Accuracy",
    "HingeLoss",
    "MultinomialLogisticLoss",
]


def _run(kind, labels, classes=5, param=""):
    blobs = 'bottom: "a" bottom: "b" top: "c"'
    text = f'layer {{ name: "l" type: "{kind}" {blobs} {param} }}'
    scores = np.ones((len(labels), classes))
    return run_layer(text, scores, np.array(labels, float))


@pytest.mark.parametrize("kind", LABELLED)
@pytest.mark.parametrize(("label", "place"), [(5, 3), (-1, 0), (-90, 2), (45, 1)])
def test_a_label_that_names_no_class_stops_with_its_position(kind, label, place):
    labels = [0, 1, 4, 2]
    labels[place] = label
    message = (
        f"'l' ({kind}): label {label} at position ({place},) of the batch is out of "
        "range; with 5 classes allowed are 0 to 4"
    )
    with pytest.raises(LayerError, match=re.escape(message)):
        _run(kind, labels)


@pytest.mark.parametrize("kind", LABELLED)
def test_the_largest_class_is_allowed(kind):
    _run(kind, [0, 1, 4])


def test_the_position_is_that_in_the_labels_own_shape():
    text = 'layer { name: "l" type: "Accuracy" bottom: "a" bottom: "b" top: "c" }'
    labels = np.zeros((2, 3, 2))
    labels[1, 2, 0] = 7
    with pytest.raises(LayerError, match=r"label 7 at position \(1, 2, 0\)"):
        run_layer(text, np.ones((2, 4, 3, 2)), labels)


@pytest.mark.parametrize(
    ("kind", "param"),
    [("SoftmaxWithLoss", "loss_param"), ("Accuracy", "accuracy_param")],
)
def test_an_ignored_label_may_be_anything(kind, param):
    _run(kind, [0, 255, 4], param=f"{param} {{ ignore_label: 255 }}")


@pytest.mark.parametrize("kind", LABELLED)
def test_labels_must_be_as_many_as_predictions(kind):
    text = f'layer {{ name: "l" type: "{kind}" bottom: "a" bottom: "b" top: "c" }}'
    with pytest.raises(LayerError, match=r"bottom.1. has 6 labels .shape .3, 2.."):
        run_layer(text, np.ones((3, 5)), np.zeros((3, 2)))
