import re
import sys

import pytest

from geeps_caffe.commands.time import Stopwatch, main
from geeps_caffe.engines.table import open_engine
from geeps_caffe.errors import UsageError
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.layers.python_class import PythonLayer
from geeps_caffe.schedule.program import Options
from tests.schedule.nets import graph_of


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


class Slow(PythonLayer):
    """A source whose forward takes three seconds of `now`."""

    now = 0.0

    def reshape(self, bottom, top):
        top[0].reshape(2, 3)

    def forward(self, bottom, top):
        Slow.now += 3


SLOW = """
layer { name: "slow" type: "Python" top: "x"
  python_param { module: "slow_layers" layer: "Slow" } }
layer { name: "sum" type: "Reduction" bottom: "x" top: "sum" loss_weight: 1 }
"""


def test_what_a_python_source_takes_is_its_own(monkeypatch):
    monkeypatch.setitem(sys.modules, "slow_layers", sys.modules[__name__])
    net = PlannedNet(graph_of(SLOW), open_engine("reference"), Options(keep_all=True))
    stopwatch = Stopwatch(net, clock=lambda: Slow.now)
    for _ in range(2):
        stopwatch.run_once()
    assert dict(stopwatch.seconds["forward"]) == {0: 6, 1: 0}


def test_no_iterations_are_refused(job):
    with pytest.raises(UsageError, match="-iterations is 0"):
        main(["-model=net.prototxt", "-iterations=0"])
