import numpy as np

from geeps_caffe.commands.environment import device_rows, show, version_rows


def test_rows_are_aligned():
    assert show([("a", "1"), ("long", "2")]) == "a     1\nlong  2"


def test_a_missing_library_is_said_to_be_missing():
    libraries = {"arrays": ("no-such-library", "numpy"), "none": ("no-such-library",)}
    assert version_rows(libraries)[-2:] == [
        ("arrays", f"{np.__version__} (numpy)"),
        ("none", "not installed"),
    ]


def test_the_engine_is_named_with_its_threads():
    engine = dict(device_rows())["engine"]
    assert engine.startswith(("onednn", "reference"))
