from geeps_caffe.commands.device_query import main


def test_caffes_line_is_logged_and_the_devices_are_printed(capsys, monkeypatch):
    monkeypatch.setenv("GLOG_logtostderr", "1")
    assert main(["-gpu", "all"]) == 0
    shown = capsys.readouterr()
    assert shown.err.endswith("caffe.cpp:138] Querying GPUs all\n")
    assert "engine" in shown.out
    assert "gpu" in shown.out
