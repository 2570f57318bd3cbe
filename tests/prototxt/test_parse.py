import re

import pytest
from google.protobuf import text_format
from hypothesis import given, settings
from hypothesis import strategies as st

from prototxt.errors import PrototxtError
from prototxt.parse import parse
from prototxt.schema import (
    NetParameter,
    SolverParameter,
    message_class,
    repeated_fields,
)
from prototxt.source import Source
from prototxt.text import parse_net, parse_text
from prototxt.write import write_text


def net(text):
    return parse_text(text, NetParameter, "f").message


def faults(text, cls=NetParameter):
    with pytest.raises(PrototxtError) as caught:
        parse_text(text, cls, "f")
    return [(f.line, f.column, f.text) for f in caught.value.faults]


@pytest.mark.parametrize(
    "text",
    [
        'layer { name: "a" top: "b" }',
        'layer: { name: "a" top: "b" }',
        "layer < name: 'a' top: 'b' >",
        'layer { name: "a", top: "b"; };',
        'layer {name:"a"top:"b"}',
        'layer { name: "a" top: ["b"] }',
        '# first\nlayer { # second\n name: "" "a"\n\ttop: "b" }',
        'layer [ { name: "a" top: "b" } ]',
    ],
)
def test_all_forms_of_the_text_format_mean_the_same(text):
    assert write_text(net(text)) == 'layer {\n  name: "a"\n  top: "b"\n}\n'


def test_an_empty_list_adds_nothing():
    assert net("input: [] layer []") == NetParameter()


def test_all_unknown_fields_are_found_at_once_with_layer_line_and_column():
    text = 'nme: "x"\nlayer {\n  tpye: "ReLU"\n  name: "r"\n  foo { bar: [1, 2] }\n}'
    assert faults(text) == [
        (1, 1, "NetParameter has no field 'nme'; did you mean 'name'?"),
        (3, 3, "layer 'r': LayerParameter has no field 'tpye'; did you mean 'type'?"),
        (5, 3, "layer 'r': LayerParameter has no field 'foo'"),
    ]


def test_values_that_do_not_fit_are_found_beside_unknown_fields():
    text = 'layer { name: "c" convolution_param { num_output: 1.5 grp: 2 pad: -1 } }'
    found = faults(text)
    assert [column for _, column, _ in found] == [51, 55, 67]
    assert found[0][2] == "layer 'c': 'num_output': expected a whole number, not '1.5'"


def test_a_layer_of_v0_is_named_in_faults():
    (fault,) = faults('layers { layer { name: "old" foo: 1 } }')
    assert fault[2].startswith("layer 'old': ")


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ('layer { name: "a }', 15, "layer without a name: string not closed"),
        ("layer {", 7, "the '{' of line 1 is not closed"),
        ("layer { }}", 10, "'}' closes nothing"),
        ('layer { name: "a" > }', 19, "layer 'a': '>' closes nothing"),
        ('layer { name "a" }', 9, "layer without a name: expected ':' after 'name'"),
        ("layer: 3", 8, "expected '{' after 'layer', not '3'"),
        ('layer { top: ["a" "b" 3] }', 23, "layer without a name: expected ',' or ']'"),
        (
            'layer { name: "a" é: 1 }',
            19,
            "layer 'a': expected the name of a field, not",
        ),
        ("layer { [a.b]: 1 }", 9, "layer without a name: extensions in brackets"),
    ],
)
def test_faults_of_grammar_say_what_was_expected(text, column, expected):
    ((_, found_column, message),) = faults(text)
    assert found_column == column
    assert expected in message


def test_a_string_not_closed_is_found_in_an_unknown_field_too():
    assert "string not closed" in faults('foo: "bar\n')[1][2]


def test_what_stands_before_a_fault_of_grammar_is_reported_with_it():
    assert len(faults('foo: 1\nlayer { name: "open }')) == 2


def test_a_value_where_a_block_stands_is_a_fault():
    ((_, _, message),) = faults("name: { x: 1 }")
    assert message == "'name' takes a value, not a block"


def test_a_template_that_is_not_filled_in_is_recognized():
    assert "is this a template" in faults("base_lr: ${LR}", SolverParameter)[0][2]


def test_what_is_no_prototxt_at_all_is_asked_for():
    assert "is this a prototxt?" in faults('{"json": true}')[0][2]


def test_a_missing_required_field_is_reported_at_its_block():
    ((line, column, message),) = faults('layer {\n clip_param { min: 0 } name: "c" }')
    assert (line, column) == (2, 13)
    assert message == "layer 'c': the field 'max' is missing here"


def test_of_a_field_given_twice_the_last_counts_with_a_warning():
    document = parse_text("device_id: 1\ndevice_id: 2\n", SolverParameter, "s")
    assert document.message.device_id == 2
    assert document.warnings == (
        "s:2: 'device_id' is given twice (lines 1 and 2); the last one counts",
    )


def test_blocks_given_twice_are_merged():
    text = "layer { pooling_param { stride: 2 } pooling_param { kernel_size: 3 } }"
    pooling = net(text).layer[0].pooling_param
    assert (pooling.stride, pooling.kernel_size) == (2, 3)


def test_an_empty_block_is_there():
    assert net("layer { relu_param { } }").layer[0].HasField("relu_param")


def test_bytes_are_kept_as_they_are():
    datum = parse(Source(r'data: "\000\377"', "f"), message_class("Datum")).message
    assert datum.data == b"\x00\xff"


def is_repeated(field):
    return field.name in repeated_fields(field.containing_type)


def scalars(field):
    kinds = {
        field.CPPTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
        field.CPPTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
        field.CPPTYPE_UINT32: st.integers(0, 2**32 - 1),
        field.CPPTYPE_FLOAT: st.floats(width=32, allow_nan=False),
        field.CPPTYPE_DOUBLE: st.floats(allow_nan=False),
        field.CPPTYPE_BOOL: st.booleans(),
    }
    if field.enum_type is not None:
        return st.sampled_from(list(field.enum_type.values_by_number))
    if field.type == field.TYPE_BYTES:
        return st.binary(max_size=6)
    return kinds.get(field.cpp_type, st.text(st.characters(codec="utf-8"), max_size=6))


@st.composite
def messages(draw, cls, depth=3):
    message = cls()
    names = st.sampled_from([f.name for f in cls.DESCRIPTOR.fields])
    for name in draw(st.sets(names, max_size=5)):
        field = cls.DESCRIPTOR.fields_by_name[name]
        count = draw(st.integers(1, 2)) if is_repeated(field) else 1
        for _ in range(count):
            fill(draw, message, field, depth)
    return message


def fill(draw, message, field, depth):
    target = getattr(message, field.name)
    if field.message_type is not None:
        if depth > 0:
            value = draw(messages(message_class_of(field), depth - 1))
            (target.add() if is_repeated(field) else target).MergeFrom(value)
    elif is_repeated(field):
        target.append(draw(scalars(field)))
    else:
        setattr(message, field.name, draw(scalars(field)))


def message_class_of(field):
    return message_class(field.message_type.full_name.removeprefix("caffe."))


@settings(max_examples=60, deadline=None)
@given(messages(NetParameter))
def test_what_protobuf_writes_is_read_as_protobuf_reads_it(message):
    if not message.IsInitialized():
        return
    text = text_format.MessageToString(message)
    assert parse_text(text, NetParameter).message == message


@settings(max_examples=60, deadline=None)
@given(messages(SolverParameter))
def test_what_we_write_is_read_by_protobuf(message):
    if not message.IsInitialized():
        return
    text = write_text(message)
    assert text_format.Parse(text, SolverParameter()) == message
    assert parse_text(text, SolverParameter).message == message


SAMPLE = """name: "n"
layer { name: "c" type: 'Convolution' bottom: "d" top: "c" # comment
  param { lr_mult: 1.5e-1 } convolution_param { num_output: 0x10 engine: CAFFE } }
layer < top: [ "a", "b" ] include: { phase: TEST, stage: "s" } loss_weight: -inf; >
"""


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(SAMPLE)), st.sampled_from(list("{}<>[]:;,\"'#-0a. \n"))
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_damaged_text_is_read_or_refused_as_protobuf_does(changes):
    text = SAMPLE
    for place, char in changes:
        text = text[:place] + char + text[place:]
    # Of protobuf's parsers that in Python alone takes no blank behind a minus.
    joined = re.sub(r"-[ \n]+(?=[\d.i])", "-", text)
    try:
        expected = text_format.Parse(joined, NetParameter())
    except text_format.ParseError:
        expected = None
    try:
        got = parse_text(text, NetParameter).message
    except PrototxtError:
        got = None
    assert got == expected


def test_real_files_are_read_as_protobuf_reads_them(corpus):
    paths = sorted((corpus / "zoo" / "BVLC__caffe").rglob("*.prototxt"))
    nets = [path for path in paths if "solver" not in path.name]
    assert len(nets) > 20
    for path in nets:
        text = path.read_text()
        expected = text_format.Parse(text, NetParameter())
        assert parse_text(text, NetParameter).message == expected


def test_a_big_net_is_read_in_no_time(corpus):
    path = corpus / "zoo/BVLC__caffe/models/bvlc_googlenet/train_val.prototxt"
    assert len(parse_net(path.read_text()).message.layer) == 166


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("base_lr: 0,01", "not '01'; a fraction stands after a point: 0.01"),
        ("power: -0,75 gamma: 1", "a fraction stands after a point: -0.75"),
        ("base_lr: 1 // rate", "not '/'; comments begin with #"),
        ("/* solver */ base_lr: 1", "not '/'; comments begin with #"),
        ("base_lr: 1e39", "'base_lr': 1e39 is too large for a float (at most 3.4e38)"),
        ("base_lr: -1e999", "'base_lr': 1e999 is too large for a float"),
    ],
)
def test_usual_slips_are_told_what_to_write(text, said):
    ((_, _, fault),) = faults(text, SolverParameter)
    assert said in fault


def test_a_double_holds_what_no_float_does():
    text = "layer { blobs { double_data: [1e39, -1e308] double_diff: 1e309 } }"
    ((_, _, fault),) = faults(text)
    assert "'double_diff': 1e309 is too large for a double (at most 1.8e308)" in fault
    (layer,) = parse_text(text.replace("e309", "e300"), NetParameter).message.layer
    assert list(layer.blobs[0].double_data) == [1e39, -1e308]
    assert list(layer.blobs[0].double_diff) == [1e300]


def test_the_largest_float_is_no_slip():
    text = "base_lr: 3.4028235e38 gamma: 1e38 power: inf"
    solver = parse_text(text, SolverParameter, "f").message
    assert solver.base_lr == 3.4028234663852886e38
