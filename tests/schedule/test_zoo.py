"""Real models: they compile, and their plans have no fault."""

import pytest

import prototxt
from geeps_caffe.engines.table import open_engine
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.plan import make_plan
from tests.schedule.nets import program_of, without_sources

#: Paths in the zoo, and the size of the images that sources give.
BVLC = "BVLC__caffe/models"
INTEL = "intel__caffe/models"
RESNET = "KaimingHe__deep-residual-networks/prototxt"
NETS = {
    "alexnet": (f"{BVLC}/bvlc_alexnet/train_val.prototxt", 227),
    "googlenet": (f"{BVLC}/bvlc_googlenet/train_val.prototxt", 224),
    "googlenet_v2": (f"{INTEL}/default_googlenet_v2/train_val.prototxt", 224),
    "resnet_50": (f"{INTEL}/default_resnet_50/train_val.prototxt", 224),
    "resnet_101": (f"{RESNET}/ResNet-101-deploy.prototxt", 224),
    "squeezenext": ("amirgholami__SqueezeNext/1.0-SqNxt-23v5/train_val.prototxt", 227),
}


@pytest.fixture(params=NETS)
def graph(request, corpus):
    path, size = NETS[request.param]
    document = prototxt.read_net(corpus / "zoo" / path)
    message = without_sources(document.message, [(4, 3, size, size), (4,)])
    if request.param == "resnet_101":
        trained(message)
    return build_graph(Source(message, path, document.layer_lines), NetState("TRAIN"))


def trained(message):
    """A deploy net with a label and a loss in place of its Softmax."""
    assert message.layer[-1].type == "Softmax"
    bottom = message.layer[-1].bottom[0]
    del message.layer[-1]
    label = message.layer.add(name="label", type="Input", top=["label"])
    label.input_param.shape.add().dim.append(
        message.layer[0].input_param.shape[0].dim[0]
    )
    message.layer.add(
        name="loss", type="SoftmaxWithLoss", bottom=[bottom, "label"], top=["loss"]
    )
    for layer in message.layer:
        layer.batch_norm_param.ClearField("use_global_stats")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*use_global_stats")
@pytest.mark.parametrize("keep_all", [False, True], ids=["lean", "by hand"])
def test_a_model_plans_at_any_budget_from_the_least(graph, keep_all):
    program = program_of(graph, open_engine("onednn"), keep_all=keep_all)
    free = make_plan(program)
    assert check_plan(free) == []
    least = make_plan(program, share=not keep_all).least_bytes
    for factor in (1, 1.15, 1.5):
        plan = make_plan(program, int(least * factor))
        assert check_plan(plan) == []
