from prototxt.mixed import mixed_formats
from prototxt.schema import LayerParameter, V1LayerParameter

NEW = LayerParameter(name="new", type="ReLU")
WAY_OUT = "do that"


def test_both_layers_are_named_and_the_old_one_is_shown_as_it_should_be():
    old = V1LayerParameter(name="old", type=V1LayerParameter.SILENCE, bottom=["a"])
    fault = mixed_formats(NEW, 3, old, 5, WAY_OUT)
    assert fault.line == 5
    assert "layer 'new' (line 3) is 'layer { ... }'" in fault.text
    assert "layer 'old' (line 5) is the old 'layers { ... }'; do that" in fault.text
    for line in ("layer {", '  name: "old"', '  type: "Silence"', '  bottom: "a"'):
        assert line in fault.text.splitlines()


def test_a_layer_of_the_first_format_is_only_named():
    old = V1LayerParameter()
    old.layer.name = "oldest"
    fault = mixed_formats(NEW, 3, old, 5, WAY_OUT)
    assert "layer 'oldest' (line 5)" in fault.text
    assert fault.text.endswith("do that")
