import csv

import numpy as np
import pytest

from prototxt.dialects import (
    DIALECTS,
    batch_norm_blobs,
    has_plain_statistics,
    to_schema,
)
from prototxt.encode import join_parts, length_field, number_field
from prototxt.errors import PrototxtError
from prototxt.schema import (
    LayerParameter,
    SolverParameter,
    enum,
    enum_name,
    message_class,
)
from prototxt.weights import read_weights


def test_every_number_of_every_fork_leads_to_the_field_of_that_name(corpus):
    with (corpus / "schema" / "fork_schema.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        table = DIALECTS.get(row["fork"], {}).get(row["message"], {})
        there = int(row["number"])
        here = table.get(there, there)
        if row["label"] == "enum":
            ours = enum(row["message"]).values_by_name[row["field"]].number
        else:
            fields = message_class(row["message"]).DESCRIPTOR.fields_by_name
            ours = fields[row["field"]].number
        assert here == ours, row


def test_a_layer_of_nvcaffe_is_renumbered():
    theirs = number_field(145, 2) + join_parts(
        length_field(100, [number_field(8, 1), number_field(1, 0)[:0]])
    )
    content = to_schema(theirs, LayerParameter.DESCRIPTOR, "nvcaffe")
    layer = LayerParameter.FromString(content)
    assert enum_name(layer, "forward_type") == "FLOAT16"
    assert layer.transform_param.use_gpu_transform


def test_an_enum_value_of_intel_is_renumbered():
    theirs = join_parts(length_field(101, [number_field(3, 4)]))
    content = to_schema(theirs, LayerParameter.DESCRIPTOR, "intel")
    layer = LayerParameter.FromString(content)
    assert enum_name(layer.loss_param, "normalization") == "NONE"


def test_a_solver_of_ssd_is_renumbered():
    theirs = join_parts(length_field(41, [b"detection"]))
    content = to_schema(theirs, SolverParameter.DESCRIPTOR, "ssd")
    assert SolverParameter.FromString(content).eval_type == "detection"


def test_without_a_dialect_nothing_changes():
    assert to_schema(b"\x08\x01", SolverParameter.DESCRIPTOR, None) == b"\x08\x01"


def test_an_unknown_dialect_is_refused_with_the_known_ones():
    with pytest.raises(PrototxtError, match=r"did you mean 'nvcaffe'.*intel"):
        to_schema(b"", LayerParameter.DESCRIPTOR, "nvcafe")


@pytest.mark.parametrize(
    ("layer", "dialect"),
    [
        (b"\x0a\x01x" + number_field(146, 1), "nvcaffe"),
        (join_parts(length_field(149, [b"MKLDNN"])), "intel"),
        (join_parts(length_field(45, [b""])), "segnet"),
        (b"\x12\x04LSTM" + join_parts(length_field(145, [b""])), "geeps"),
        (b"\x12\x04LSTM" + join_parts(length_field(134, [b""])), "lisa"),
        (b"\x12\x09Parameter" + join_parts(length_field(145, [b""])), None),
        (b"\x12\x04ReLU", None),
    ],
)
def test_the_fork_that_wrote_a_layer_is_guessed(tmp_path, layer, dialect):
    path = tmp_path / "w.caffemodel"
    path.write_bytes(join_parts(length_field(100, [layer])))
    assert read_weights(path).layers[0].dialect == dialect


def test_five_blobs_of_batch_norm_are_nvcaffes():
    old = batch_norm_blobs([8, 8, 8, 8, 1])
    assert (old.scale, old.bias, old.mean, old.variance, old.factor) == (
        0,
        1,
        2,
        3,
        None,
    )
    new = batch_norm_blobs([8, 8, 1, 8, 8])
    assert (new.mean, new.variance, new.factor, new.scale, new.bias) == (0, 1, 2, 3, 4)


def test_three_blobs_of_batch_norm_are_caffes():
    blobs = batch_norm_blobs([8, 8, 1])
    assert (blobs.mean, blobs.variance, blobs.factor) == (0, 1, 2)
    assert blobs.scale is None
    assert batch_norm_blobs([8, 8]) is None


def test_a_factor_of_zero_beside_statistics_is_nvcaffes():
    one, four, zero = np.ones(1), np.full(1, 4.0), np.zeros(1)
    assert has_plain_statistics(0, one, four)
    assert not has_plain_statistics(1, one, four)
    assert not has_plain_statistics(0, zero, zero)
