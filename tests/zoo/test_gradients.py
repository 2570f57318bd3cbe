import numpy as np
import pytest

import prototxt
from geeps_caffe.caffe import TRAIN, Net
from tests.zoo.gradients import RTOL, fill, probe
from tests.zoo.nets import NETS, read_whole


@pytest.mark.parametrize("whole", NETS)
def test_backward_of_a_whole_net_agrees_with_differences(whole, corpus, tmp_path, rng):
    message = read_whole(corpus, whole)
    for spec in message.layer:
        if spec.type == "Dropout":
            spec.dropout_param.dropout_ratio = 0
        if spec.type != "BatchNorm":  # layers that are frozen are to learn here
            del spec.param[:]
    file = tmp_path / "net.prototxt"
    file.write_text(prototxt.write_text(message))
    net = Net(str(file), TRAIN, engine="reference", dtype="float64")
    fill(net, rng)
    counted = [p for p in probe(net, rng) if p.smooth]
    assert len(counted) >= 20
    assert len({p.layer for p in counted}) >= min(20, np.ceil(0.6 * _learning(net)))
    wrong = [p for p in counted if p.error > RTOL]
    assert not wrong, wrong


def _learning(net):
    return sum(any(node.learns) for node in net._net.graph.nodes)
