from geeps_caffe.commands.environment import device_rows, show, version_rows


def test_rows_are_aligned():
    assert show([("a", "1"), ("long", "2")]) == "a     1\nlong  2"


def test_a_missing_library_is_said_to_be_missing():
    rows = dict(version_rows())
    assert all(value for value in rows.values())
    assert rows["cupy"] == "not installed" or rows["cupy"][0].isdigit()


def test_the_engine_is_named_with_its_threads():
    engine = dict(device_rows())["engine"]
    assert engine.startswith(("onednn", "reference"))
