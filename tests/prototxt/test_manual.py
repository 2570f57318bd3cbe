from prototxt.manual import fork_fields, forks_of, manual
from prototxt.schema import message_class, message_names
from prototxt.text import parse_net


def test_every_field_of_the_schema_is_in_the_manual():
    for name in message_names():
        entry = manual()[name]
        described = tuple(field.name for field in entry.fields)
        fields = message_class(name).DESCRIPTOR.fields
        assert described == tuple(field.name for field in fields)


def test_a_field_has_type_default_and_meaning():
    field = manual()["PoolingParameter"].field("round_mode")
    assert (field.type, field.label, field.default) == ("RoundMode", "optional", "CEIL")
    assert field.meaning == "output sizes are rounded up (CEIL) or down (FLOOR)"
    assert field.forks == ()


def test_every_parameter_message_of_caffe_has_a_meaning():
    for field in message_class("LayerParameter").DESCRIPTOR.fields:
        if field.number < 149 and field.name.endswith("_param"):
            assert manual()[field.message_type.name].meaning, field.name


def test_enums_are_in_the_manual_with_their_values():
    names = [value.name for value in manual()["PoolingParameter.PoolMethod"].fields]
    assert names == ["MAX", "AVE", "STOCHASTIC"]


def test_a_field_of_a_fork_names_its_forks():
    assert forks_of("TransformationParameter", "flow") == ("geeps", "lisa", "intel")
    assert forks_of("TransformationParameter", "scale") == ()
    assert "ssd" in forks_of("PermuteParameter", "order")


def test_fork_fields_that_a_net_uses_are_found():
    net = parse_net(
        'layer { name: "d" transform_param { flow: true scale: 2 } '
        "permute_param { order: 0 } }"
    ).message
    assert list(fork_fields(net.layer[0])) == [
        ("transform_param.flow", "geeps, lisa, intel"),
        ("permute_param", "ssd, nvcaffe, intel"),
    ]
