from prototxt.text import parse_net, parse_solver

NET = """name: "n"
layer {
  name: "a"
  bottom: "x"
  bottom: "y"
  convolution_param {
    num_output: 3
  }
}
layer { name: "b" }
"""


def test_layers_know_their_lines():
    assert parse_net(NET).layer_lines == (2, 10)


def test_fields_know_their_lines():
    document = parse_net(NET)
    assert document.line_of("name") == 1
    assert document.line_of("convolution_param.num_output", layer=0) == 7


def test_entries_of_a_repeated_field_have_lines_of_their_own():
    assert parse_net(NET).line_of("bottom", layer=0, index=1) == 5


def test_a_field_that_is_not_given_has_the_line_of_what_is_around_it():
    document = parse_net(NET)
    assert document.line_of("convolution_param.pad", layer=0) == 6
    assert document.line_of("pooling_param.pad", layer=1) == 10


def test_a_place_is_shown_with_the_file():
    document = parse_solver("base_lr: 1\n", "dir/s.prototxt")
    assert document.where("base_lr") == "dir/s.prototxt:1"
    assert document.where("max_iter") == "dir/s.prototxt"


def test_a_layer_made_of_input_fields_has_their_line():
    document = parse_net('name: "n"\ninput: "x"\ninput_dim: [1, 1, 1, 1]')
    assert document.line_of("name", layer=0) == 2
    assert document.line_of("name") == 1
