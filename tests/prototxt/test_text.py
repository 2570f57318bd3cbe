import csv

import pytest

import prototxt
from prototxt.errors import PrototxtError
from prototxt.text import parse_net, parse_solver, read_net, read_solver
from prototxt.write import write_text

LENET = """name: "LeNet"
layer {
  name: "mnist"
  type: "Data"
  top: "data"
  data_param { source: "mnist_lmdb" backend: LMDB batch_size: 64 }
}
"""


def refused(path, read=read_net):
    with pytest.raises(PrototxtError) as caught:
        read(path)
    return caught.value


def test_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path):
    plain = parse_net(LENET).message
    windows = LENET.replace("\n", "\r\n").encode()
    for content in (b"\xef\xbb\xbf" + windows, "\ufeff".encode("utf-16-le")):
        if content.startswith(b"\xff"):
            content += LENET.encode("utf-16-le")
        path = tmp_path / "net.prototxt"
        path.write_bytes(content)
        document = read_net(path)
        assert document.message == plain
        assert document.layer_lines == (2,)


def test_a_string_not_closed_is_shown_with_its_line(tmp_path):
    path = tmp_path / "net.prototxt"
    text = LENET.replace('"mnist_lmdb"', '"levelDB/icdar_test_lmdb')
    path.write_text(text)
    error = refused(path)
    assert (error.line, error.column) == (6, 24)
    assert "layer 'mnist': string not closed" in str(error)
    assert str(error).splitlines()[-1] == " " * 25 + "^"


def test_weights_given_as_a_net_are_recognized(golden):
    error = refused(golden / "upgrade" / "v1_weights.caffemodel")
    assert "binary caffemodel" in str(error)
    assert "the arguments look swapped" in str(error)


def test_hdf5_weights_given_as_a_net_are_recognized(golden):
    error = refused(golden / "solvers" / "init_plain.caffemodel.h5")
    assert "HDF5" in str(error)
    assert "swapped" in str(error)


def test_a_missing_file_names_where_it_was_sought_and_what_is_near(tmp_path):
    (tmp_path / "train_val.prototxt").touch()
    error = refused(tmp_path / "trainval.prototxt")
    assert error.path == str(tmp_path / "trainval.prototxt")
    assert "current folder" in str(error)
    assert "train_val.prototxt'?" in str(error)


def test_a_missing_folder_is_named(tmp_path):
    assert f"there is no folder {tmp_path / 'no'}" in str(refused(tmp_path / "no/net"))


def test_a_folder_is_no_file(tmp_path):
    assert "is a folder" in str(refused(tmp_path))


MIXED = """layer {
  name: "new"
  type: "DummyData"
  top: "x"
}
layers {
  name: "old"
  type: INNER_PRODUCT
  bottom: "x"
  inner_product_param { num_output: 3 }
}
"""


def test_a_net_of_two_formats_is_refused_with_both_layers_and_the_way_out():
    with pytest.raises(PrototxtError) as caught:
        parse_net(MIXED, "net.prototxt")
    text = str(caught.value)
    assert caught.value.line == 6
    assert "layer 'new' (line 1)" in text
    assert "layer 'old' (line 6)" in text
    assert "geeps-caffe upgrade_net_proto_text OLD NEW" in text
    assert 'type: "InnerProduct"' in text


def test_an_input_without_a_shape_is_refused_where_layers_could_read_it():
    with pytest.raises(PrototxtError, match="1 'input' and no 'input_shape'") as caught:
        parse_net('name: "n"\ninput: "x"\nlayer { type: "ReLU" bottom: "x" }')
    assert caught.value.line == 2


def test_a_net_of_the_old_format_is_upgraded_and_keeps_its_lines(golden):
    document = read_net(golden / "upgrade" / "v1_inputs.prototxt")
    assert [layer.name for layer in document.message.layer][:2] == ["input", "flat"]
    assert document.layer_lines == (2, 5, 6, 7)
    assert document.notes[0].severity == "I"
    assert document.notes[0].text.startswith("Attempting to upgrade input file")


def test_a_line_is_found_in_an_upgraded_layer():
    document = parse_net(
        'layers {\n name: "c"\n type: CONVOLUTION\n convolution_param {\n pad: 1 } }'
    )
    assert document.line_of("convolution_param.pad", layer=0) == 5


def test_a_padding_layer_of_v0_leaves_the_lines_of_the_others_right():
    document = parse_net(
        'input: "x"\ninput_dim: [1, 1, 4, 4]\n'
        'layers { layer { name: "p" type: "padding" pad: 1 } bottom: "x" top: "p" }\n'
        'layers { layer { name: "c" type: "conv" } bottom: "p" top: "c" }\n'
    )
    assert [layer.name for layer in document.message.layer] == ["input", "c"]
    assert document.layer_lines == (1, 4)


def test_inputs_without_enough_sizes_are_refused_at_their_line():
    with pytest.raises(PrototxtError) as caught:
        parse_net('name: "n"\ninput: "a"\ninput_dim: 3')
    assert caught.value.line == 2


def test_a_transformation_where_caffe_does_not_look_is_warned_of():
    document = parse_net('layer {\n name: "d"\n data_param {\n  crop_size: 3 } }', "f")
    assert document.warnings == (
        "f:4: layer 'd': data_param.crop_size has no effect in this format; "
        "use transform_param.crop_size",
    )


def test_solver_types_are_known_in_any_case():
    assert parse_solver('type: "ADAM"').message.type == "Adam"
    assert parse_solver("solver_type: RMSPROP").message.type == "RMSProp"


def test_a_solver_with_both_type_fields_is_refused_at_the_old_one():
    with pytest.raises(PrototxtError) as caught:
        parse_solver('type: "SGD"\nsolver_type: ADAM\n', "s")
    assert caught.value.line == 2
    assert "remove the old one" in str(caught.value)


def test_real_nets_of_caffe_and_its_forks_are_read(corpus):
    zoo = corpus / "zoo"
    read, refused_with = 0, {}
    with (zoo / "manifest.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        path = zoo / row["path"]
        if not path.exists():
            continue
        reader = read_solver if row["kind"] == "solver" else read_net
        try:
            reader(path)
            read += 1
        except PrototxtError as error:
            refused_with[row["path"]] = error
            assert row["mainline"] not in ("yes", "yes+python"), error
    assert read >= 275
    assert all(
        all(f.line and f.column for f in e.faults) for e in refused_with.values()
    )


def test_every_unknown_field_of_a_real_file_is_listed(corpus):
    path = (
        corpus
        / "zoo/naibaf7__caffe/models/inference_optimize/AlexNet-merged-1.prototxt"
    )
    text = path.read_text()
    expected = [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip().startswith(("fuse_type", "pooling_param {"))
        and not line.startswith("  pooling_param")
    ]
    assert [fault.line for fault in refused(path).faults] == expected


def test_the_public_names_are_all_there():
    for name in prototxt.__all__:
        assert getattr(prototxt, name) is not None


def test_what_is_read_again_after_writing_is_the_same(golden):
    paths = (golden / "upgrade").glob("*.upgraded.prototxt")
    texts = [p.read_text() for p in paths if not p.name.startswith("solver")]
    assert len(texts) == 6
    for text in texts:
        assert write_text(parse_net(text).message) == text
