import pytest

import prototxt
from geeps_caffe.engines.table import open_engine
from geeps_caffe.errors import InputError
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.graph.override import MadeUp, replace_data_layers
from geeps_caffe.schedule.compile import compile_program
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.program import Options
from tests.zoo.nets import RECORDS, REFUSED, STAGES, manifest, value_for


@pytest.fixture(scope="module")
def engine():
    return open_engine("onednn")


def plan(path, corpus, phase, engine):
    document = prototxt.read_net(str(corpus / "zoo" / path))
    source = Source(document.message, document.path, document.layer_lines)
    stages = value_for(path, STAGES, ()) if phase == "TEST" else ()
    state = NetState(phase, stages=stages)
    made_up = MadeUp(value_for(path, RECORDS, {}))
    graph = build_graph(replace_data_layers(source, state, made_up), state)
    backward = phase == "TRAIN" and any(node.needs_backward for node in graph.nodes)
    options = Options("float32", backward=backward)
    return make_plan(compile_program(graph, engine, options, {}, {}), None, None)


def test_every_net_of_mainline_layers_builds_and_can_be_planned(corpus, engine):
    faults, refused = [], set()
    for path in manifest(corpus, "net"):
        expected = value_for(path, REFUSED, None)
        for phase in ("TRAIN", "TEST"):
            try:
                assert plan(path, corpus, phase, engine).program.arrays
            except InputError as error:
                if expected is not None and expected in str(error):
                    refused.add(expected)
                else:
                    faults.append(f"{path} in {phase}: {error}")
    assert not faults, "\n".join(faults)
    assert refused == set(REFUSED.values())


def test_every_solver_of_mainline_caffe_loads(corpus):
    paths = manifest(corpus, "solver")
    assert len(paths) > 50
    for path in paths:
        message = prototxt.read_solver(str(corpus / "zoo" / path)).message
        assert message.base_lr > 0, path
