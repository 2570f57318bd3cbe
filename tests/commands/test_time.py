import re

import pytest

from geeps_caffe.commands.time import main
from geeps_caffe.errors import UsageError


@pytest.mark.parametrize("phase", ["TRAIN", "TEST"])
def test_each_layer_has_a_time_for_each_pass(job, capsys, phase):
    assert main(["-model=net.prototxt", f"-phase={phase}", "-iterations=2"]) == 0
    log = capsys.readouterr().err
    for name in ("data", "ip", "loss"):
        for direction in ("forward", "backward"):
            assert re.search(rf"\] {name:>10}\t{direction}: \S+ ms\.", log)
    assert ("accuracy\t" in log) == (phase == "TEST")
    assert log.endswith("*** Benchmark ends ***\n")


def test_the_times_of_layers_sum_up_to_the_pass(job, capsys):
    main(["-model=net.prototxt", "-iterations=3"])
    log = capsys.readouterr().err
    layers = [float(t) for t in re.findall(r"\tforward: (\S+) ms", log)]
    (whole,) = re.findall(r"Average Forward pass: (\S+) ms", log)
    assert sum(layers) == pytest.approx(float(whole), rel=1e-3)


def test_no_iterations_are_refused(job):
    with pytest.raises(UsageError, match="-iterations is 0"):
        main(["-model=net.prototxt", "-iterations=0"])
