import csv
import subprocess
import sys

import pytest
from google.protobuf import descriptor_pb2
from grpc_tools import protoc

from prototxt import schema


def test_the_compiled_schema_is_that_of_the_source(tmp_path):
    out = tmp_path / "caffe.fds"
    folder = schema.PROTO_FILE.parent
    arguments = ["protoc", f"-I{folder}", f"--descriptor_set_out={out}"]
    assert protoc.main([*arguments, str(schema.PROTO_FILE)]) == 0
    parse = descriptor_pb2.FileDescriptorSet.FromString
    assert parse(out.read_bytes()) == parse(schema.COMPILED_FILE.read_bytes())


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


def show_default(field):
    if not field.has_default_value:
        return ""
    if field.enum_type is not None:
        return field.enum_type.values_by_number[field.default_value].name
    return field.default_value


def same_default(field, text):
    shown = show_default(field)
    if isinstance(shown, bool):
        return text == str(shown).lower()
    if isinstance(shown, (int, float)):
        return float(text) == pytest.approx(shown, rel=1e-6)
    return text == shown


@pytest.fixture
def mainline(corpus):
    return rows(corpus / "schema" / "caffe_schema.tsv")


def test_all_fields_of_caffe_are_there_with_number_and_default(mainline):
    for row in mainline:
        if row["label"] == "enum":
            assert schema.enum_value(row["message"], row["field"]) == int(row["number"])
            continue
        message = schema.message_class(row["message"]).DESCRIPTOR
        field = message.fields_by_name[row["field"]]
        assert field.number == int(row["number"]), row
        assert same_default(field, row["default"]), row
        repeated = row["field"] in schema.repeated_fields(message)
        assert repeated == (row["label"] == "repeated"), row


def test_all_fields_of_forks_are_there_by_name(corpus):
    for row in rows(corpus / "schema" / "fork_schema.tsv"):
        if row["label"] == "enum":
            schema.enum_value(row["message"], row["field"])
        else:
            message = schema.message_class(row["message"]).DESCRIPTOR
            assert row["field"] in message.fields_by_name, row


def test_an_enum_is_read_and_asked_by_name():
    pooling = schema.message_class("PoolingParameter")(pool=1)
    assert schema.enum_name(pooling, "pool") == "AVE"
    assert schema.enum_value("Phase", "TEST") == schema.TEST


def test_required_fields_are_those_of_caffe():
    clip = schema.message_class("ClipParameter").DESCRIPTOR
    assert schema.required_fields(clip) == ("min", "max")


def test_importing_it_neither_loads_numpy_nor_registers_anything():
    code = (
        "import sys, prototxt; assert 'numpy' not in sys.modules;"
        "from google.protobuf import descriptor_pool as p\n"
        "try: p.Default().FindMessageTypeByName('caffe.BlobProto')\n"
        "except KeyError: print('private')"
    )
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, capture_output=True, text=True).stdout == "private\n"
