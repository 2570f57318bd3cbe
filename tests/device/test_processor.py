from geeps_caffe.device.processor import processor

CPUINFO = """\
processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Some Processor @ 2.80GHz: fast

processor\t: 1
vendor_id\t: AuthenticAMD
"""


def test_a_field_of_the_first_processor(tmp_path):
    source = tmp_path / "cpuinfo"
    source.write_text(CPUINFO)
    assert processor("vendor_id", source) == "GenuineIntel"
    assert processor("model name", source) == "Some Processor @ 2.80GHz: fast"
    assert processor("vendor", source) == ""


def test_a_system_that_says_nothing(tmp_path):
    assert processor("vendor_id", tmp_path / "missing") == ""
