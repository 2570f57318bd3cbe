"""The solver's loop: what is done and told when, in Caffe's order."""

import numpy as np
import pytest

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.errors import InputError
from geeps_caffe.execution import reports
from geeps_caffe.execution.reports import (
    BlobMean,
    Clipped,
    Displayed,
    Finetuning,
    Finished,
    Notice,
    ParamNorms,
    Snapshotting,
    Solving,
    StepReached,
)
from geeps_caffe.execution.trainer import SNAPSHOT, STOP, Trainer
from tests.execution.recordings import inside
from tests.execution.small import NET, Run, make_place, same_weights

TEST = "test_iter: 3 test_interval: 2 "


@pytest.fixture(autouse=True)
def place(tmp_path):
    make_place(tmp_path)
    with inside(tmp_path):
        yield tmp_path


def story(run):
    """Kinds of reports in order, with the iterations that they name."""
    return [(type(r).__name__, getattr(r, "iteration", None)) for r in run.told]


# -- order ---------------------------------------------------------------------


def test_a_whole_run_is_told_in_caffes_order():
    with Run(TEST + "display: 2 max_iter: 4 snapshot: 3") as run:
        run.trainer.solve()
    assert story(run) == [
        ("Solving", None),
        ("Testing", 0),
        ("Tested", None),
        ("Displayed", 0),
        ("Testing", 2),
        ("Tested", None),
        ("Displayed", 2),
        ("Snapshotting", None),
        ("Snapshotting", None),
        ("Snapshotting", None),  # after training
        ("Snapshotting", None),
        ("Finished", 4),  # with the loss
        ("Testing", 4),
        ("Tested", None),
        ("Finished", 4),
    ]
    last = run.of(Finished)
    assert last[0].loss is not None and last[1].loss is None
    assert run.of(Solving) == [Solving("small", "fixed")]


def test_no_iterations_are_a_test_at_the_first(place):
    with Run("snapshot: 2 max_iter: 1") as run:
        run.trainer.solve()
    text = TEST + 'max_iter: 0 weights: "solver_iter_1.caffemodel" '
    with Run(text + "snapshot_after_train: false") as run:
        run.trainer.solve()
        assert story(run)[1:] == [
            ("Solving", None),
            ("Testing", 0),
            ("Tested", None),
            ("Finished", 0),
        ]


@pytest.mark.parametrize("first", [True, False])
def test_the_first_test_can_be_left_out(first):
    with Run(TEST + f"max_iter: 4 test_initialization: {str(first).lower()}") as run:
        run.trainer.solve()
    tested = [report.iteration for report in run.of(reports.Testing)]
    assert tested == ([0, 2, 4] if first else [2, 4])


# -- tests ---------------------------------------------------------------------


def test_outputs_are_means_over_test_iter_batches(place):
    with Run(TEST + "test_compute_loss: true") as run:
        run.trainer.test_all()
        (tested,) = run.of(reports.Tested)
        one = run.trainer.tests[0].run(lambda: False, False)  # the next three batches
    assert [o.name for o in tested.outputs] == ["loss"]
    assert tested.loss == pytest.approx(tested.outputs[0].value)
    assert one.loss is None
    assert tested.outputs[0].value != one.outputs[0].value


def test_no_test_iterations_are_no_fault():
    with Run("test_iter: 0 test_interval: 1 test_compute_loss: true") as run:
        run.trainer.test_all()
    assert run.of(reports.Tested) == [reports.Tested((), 0.0)]


def test_several_test_nets_have_their_own_states(place):
    stages = "".join(
        f'layer {{ name: "{s}" type: "Power" bottom: "ip" top: "{s}" '
        f'include {{ stage: "{s}" phase: TEST }} }}\n'
        for s in ("one", "two")
    )
    (place / "net.prototxt").write_text(NET + stages)
    text = """test_iter: 1 test_iter: 2 test_interval: 5
    test_state { stage: "one" } test_state { stage: "two" }"""
    with Run(text) as run:
        run.trainer.test_all()
    assert [report.net for report in run.of(reports.Testing)] == [0, 1]
    names = [{o.name for o in report.outputs} for report in run.of(reports.Tested)]
    assert names == [{"loss", "one"}, {"loss", "two"}]


def test_a_test_tells_which_layers_of_the_training_net_it_lacks(place):
    """As Caffe does whenever a test net takes the weights of the training net."""
    aux = 'layer { name: "aux" type: "Power" bottom: "ip" top: "aux" '
    (place / "net.prototxt").write_text(NET + aux + "include { phase: TRAIN } }")
    with Run(TEST) as run:
        run.trainer.step(1)
    (begun,) = run.of(reports.Testing)
    assert begun.ignored == ("ip_ip_0_split", "aux")


TEST_ONLY = """
layer { name: "extra" type: "InnerProduct" bottom: "data" top: "extra"
  include { phase: TEST } inner_product_param { num_output: 2
  weight_filler { type: "constant" value: 3 } } }
"""


def test_params_of_a_test_net_alone_are_filled_and_finetuned(place):
    (place / "net.prototxt").write_text(NET + TEST_ONLY)
    with Run(TEST) as run:
        (test,) = run.trainer.tests
        assert (test.net.param("extra/0") == 3).all()
        (place / "net.prototxt").write_text(NET + TEST_ONLY.replace("TEST", "TRAIN"))
    with Run("snapshot: 1") as run:
        run.trainer.step(1)
        weights = run.weights()
    (place / "net.prototxt").write_text(NET + TEST_ONLY.replace("value: 3", "value: 1"))
    with Run(TEST) as run:
        run.trainer.finetune("solver_iter_1.caffemodel")
        (test,) = run.trainer.tests
        assert (test.net.param("extra/0") == 3).all()
        assert (test.net.param("ip/0") == weights["ip/0"]).all()
        assert run.of(Finetuning)[0].ignored[-1] == "extra"


WITHOUT_BIAS = """
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  include { phase: TEST } inner_product_param { num_output: 10 bias_term: false } }
"""


def test_a_layer_of_two_nets_has_the_same_blobs_in_both(place):
    """Caffe: Incompatible number of blobs for layer ip."""
    bottom = 'type: "InnerProduct" bottom: "data"'
    data, rest = NET.replace(bottom, bottom + " include { phase: TRAIN }").split(
        'layer { name: "ip"'
    )
    (place / "net.prototxt").write_text(
        f'{data}{WITHOUT_BIAS}layer {{ name: "ip"{rest}'
    )
    with pytest.raises(InputError, match=r"has 1 learnable blobs, .* has 2; layers"):
        Run(TEST)


# -- what is shown -------------------------------------------------------------


def test_the_shown_loss_is_the_mean_of_the_last_ones():
    with Run("display: 1") as plain, Run("display: 1 average_loss: 3") as smooth:
        plain.trainer.step(6)
        smooth.trainer.step(6)
    losses = [r.loss for r in plain.of(Displayed)]
    for i, report in enumerate(smooth.of(Displayed)):
        assert report.loss == pytest.approx(np.mean(losses[max(i - 2, 0) : i + 1]))
        assert report.outputs[0].value == pytest.approx(losses[i])  # the last one's


def test_iter_size_is_a_larger_batch(place):
    with Run("iter_size: 2 base_lr: 0.1") as run:
        run.trainer.step(2)
        weights = run.weights()
    (place / "net.prototxt").write_text(NET.replace("batch_size: 2", "batch_size: 4"))
    with Run("") as whole:
        whole.trainer.step(2)
        for key, value in whole.weights().items():
            np.testing.assert_allclose(weights[key], value, rtol=1e-4, atol=1e-6)


def test_clipping_is_told_in_every_iteration_that_it_happens_in():
    with Run("clip_gradients: 0.001 display: 10") as run:
        run.trainer.step(3)
    clipped = run.of(Clipped)
    assert len(clipped) == 3
    assert all(r.limit == pytest.approx(0.001) and r.norm > 0.001 for r in clipped)
    assert story(run)[:2] == [("Displayed", 0), ("Clipped", None)]
    with Run("clip_gradients: 1000") as run:
        run.trainer.step(3)
    assert not run.of(Clipped)


def test_a_step_of_the_rate_is_told_with_the_iteration_that_is_shown():
    policy = 'lr_policy: "multistep" gamma: 0.5 stepvalue: 2 stepvalue: 3 display: 2 '
    with Run(policy) as run:
        run.trainer.step(4)
    assert [(r.iteration, r.step) for r in run.of(Displayed)] == [(0, None), (2, 1)]
    assert run.of(StepReached) == [StepReached(3, 2)]
    assert [r.rate for r in run.of(Displayed)] == pytest.approx([0.1, 0.05])


def test_equal_steps_are_taken_one_by_one_as_in_caffe():
    policy = 'lr_policy: "multistep" gamma: 0.5 stepvalue: 1 stepvalue: 1 display: 1 '
    with Run(policy) as run:
        run.trainer.step(4)
    rates = [r.rate for r in run.of(Displayed)]
    assert rates == pytest.approx([0.1, 0.05, 0.025, 0.025])


def test_upgrades_of_a_net_are_told(place):
    old = NET.replace("layer {", "layers {")
    for new, kind in (("Data", "DATA"), ("InnerProduct", "INNER_PRODUCT")):
        old = old.replace(f'type: "{new}"', f"type: {kind}")
    old = old.replace('type: "SoftmaxWithLoss"', "type: SOFTMAX_LOSS")
    (place / "net.prototxt").write_text(old)
    with Run(TEST) as run:
        assert [n.level for n in run.of(Notice)] == ["I", "I"]
        assert "deprecated V1LayerParameter: net.prototxt" in run.told[0].text


def test_a_solver_without_a_rate_is_told_of(place):
    solver = prototxt.parse_solver('net: "net.prototxt" lr_policy: "fixed"').message
    told = []
    Trainer(solver, "s.prototxt", RunSettings(seed=1), told.append).close()
    (notice,) = (report for report in told if isinstance(report, Notice))
    assert notice.level == "W"
    assert notice.text.startswith("s.prototxt gives no base_lr: the rate is 0")


def test_warnings_of_a_net_are_told(place):
    (place / "net.prototxt").write_text('name: "first"' + NET)
    with Run("") as run:
        (notice,) = run.of(Notice)
    assert notice.level == "W"
    assert "name" in notice.text


# -- debug_info ----------------------------------------------------------------


DEBUGGED = [
    ("Forward", "data", "top", "data", "data"),
    ("Forward", "data", "top", "label", "data"),
    ("Forward", "ip", "top", "ip", "data"),
    ("Forward", "ip", "param", "0", "data"),
    ("Forward", "ip", "param", "1", "data"),
    ("Forward", "relu", "top", "ip", "data"),
    ("Forward", "loss", "top", "loss", "data"),
    ("Backward", "loss", "bottom", "ip", "diff"),
    ("Backward", "relu", "bottom", "ip", "diff"),
    ("Backward", "ip", "param", "0", "diff"),
    ("Backward", "ip", "param", "1", "diff"),
]
IN_PLACE = 'layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" }'


@pytest.mark.parametrize("engine", ["reference", "onednn"])
@pytest.mark.parametrize("keep_all", [False, True])
def test_debug_info_is_told_when_an_iteration_is_shown(place, engine, keep_all):
    net = NET.replace('layer { name: "loss"', IN_PLACE + '\nlayer { name: "loss"')
    (place / "net.prototxt").write_text(net)
    settings = RunSettings(engine=engine, seed=1, threads=1, keep_all=keep_all)
    with Run("debug_info: true display: 2", settings=settings) as run:
        before = run.weights()
        run.trainer.step(2)
        after = run.weights()
    means = run.of(BlobMean)
    assert [(m.direction, m.layer, m.role, m.blob, m.what) for m in means] == DEBUGGED
    value = {(m.direction, m.layer, m.role, m.blob): m.value for m in means}
    weights = np.abs(before["ip/0"]).mean()
    assert value["Forward", "ip", "param", "0"] == pytest.approx(weights, rel=1e-5)
    assert value["Forward", "data", "top", "label"] == pytest.approx(0.5)  # 0 and 1
    assert value["Forward", "relu", "top", "ip"] < value["Forward", "ip", "top", "ip"]
    loss = value["Forward", "loss", "top", "loss"]
    assert loss == pytest.approx(run.of(Displayed)[0].loss)
    (norms,) = run.of(ParamNorms)
    total = sum(np.abs(before[key]).sum() for key in before)
    assert norms.l1_data == pytest.approx(total, rel=1e-5)
    gradient = value["Backward", "ip", "param", "0"] * before["ip/0"].size
    gradient += value["Backward", "ip", "param", "1"] * before["ip/1"].size
    assert norms.l1_diff == pytest.approx(gradient)
    assert not same_weights(before, after)


def test_debug_info_is_told_of_every_batch_of_a_test():
    settings = RunSettings(engine="onednn", seed=1, threads=1)
    with Run("debug_info: true display: 0 " + TEST, settings=settings) as run:
        run.trainer.test_all()
        weights = run.weights()
    means = run.of(BlobMean)
    forward = [line for line in DEBUGGED if line[:2] != ("Forward", "relu")][:6]
    found = [(m.direction, m.layer, m.role, m.blob, m.what) for m in means]
    assert found == forward * 3
    assert means[3].value == pytest.approx(np.abs(weights["ip/0"]).mean(), rel=1e-5)
    losses = [m.value for m in means if m.layer == "loss"]
    (tested,) = run.of(reports.Tested)
    assert tested.outputs[-1].value == pytest.approx(sum(losses) / 3)


@pytest.mark.parametrize(("display", "forwards"), [(1, 3), (2, 1)])
def test_debug_info_is_told_of_the_last_loss_after_a_shown_iteration(display, forwards):
    with Run(f"debug_info: true display: {display} max_iter: 2") as run:
        run.trainer.solve()
    means = run.of(BlobMean)
    losses = [m for m in means if (m.direction, m.layer) == ("Forward", "loss")]
    assert len(losses) == forwards
    assert len(run.of(ParamNorms)) == 2 // display


def test_debug_info_changes_no_weights():
    with Run("debug_info: true display: 1") as told, Run("") as silent:
        told.trainer.step(5)
        silent.trainer.step(5)
        assert same_weights(told.weights(), silent.weights())


@pytest.mark.parametrize("engine", ["reference", "onednn"])
def test_debug_info_is_about_views_of_any_layout(place, engine):
    """A Reshape's top is a view of a plain copy of what the convolution made."""
    layers = """
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
      convolution_param { num_output: 20 kernel_size: 1
        weight_filler { type: "constant" value: 1 } bias_filler { type: "constant"
        value: 1 } } }
    layer { name: "view" type: "Reshape" bottom: "conv" top: "view"
      reshape_param { shape { dim: 0 dim: 4 dim: -1 } } }
    layer { name: "ip" """
    net = NET.replace('bottom: "data" top: "ip"', 'bottom: "view" top: "ip"')
    net = net.replace('layer { name: "ip"', layers)
    (place / "net.prototxt").write_text(net)
    settings = RunSettings(engine=engine, seed=1, threads=1)
    with Run("debug_info: true display: 1", settings=settings) as run:
        run.trainer.step(1)
    found = {m.layer: m.value for m in run.of(BlobMean) if m.role == "top"}
    assert found["view"] == pytest.approx(found["conv"], rel=1e-5)
    assert found["view"] > 1


@pytest.mark.parametrize("poison", [False, True])
def test_debug_info_is_about_the_items_that_a_filter_leaves(place, poison):
    """Not about what lies behind them in the memory for as many as there may be."""
    layers = """
    layer { name: "few" type: "Filter" bottom: "data" bottom: "label" bottom: "label"
      top: "few" top: "left" }
    layer { name: "ip" """
    net = NET.replace('bottom: "data" top: "ip"', 'bottom: "few" top: "ip"')
    net = net.replace('bottom: "label" top: "loss"', 'bottom: "left" top: "loss"')
    net = net.replace('layer { name: "ip"', layers)
    (place / "net.prototxt").write_text(net)
    settings = RunSettings(seed=1, threads=1, poison=poison)
    with Run("debug_info: true display: 1", settings=settings) as run:
        run.trainer.step(1)
    found = {m.blob: m.value for m in run.of(BlobMean) if m.role == "top"}
    assert found["left"] == 1  # labels 0 and 1: the first is left out


@pytest.mark.parametrize("placement", ["swapped", "pinned"])
def test_debug_info_is_the_same_where_params_are_cached(placement):
    def told(cache):
        settings = RunSettings(seed=1, threads=1, param_cache=cache)
        with Run("debug_info: true display: 1", settings=settings) as run:
            run.trainer.step(2)
        return run.of(BlobMean, ParamNorms)

    assert told(ParamCache(placement)) == told(None)


def test_debug_info_is_told_with_callbacks_too():
    with Run("debug_info: true display: 1") as plain:
        plain.trainer.step(2)
    with Run("debug_info: true display: 1") as hooked:
        hooked.trainer.training.hooks.append((lambda: None, lambda: None))
        hooked.trainer.step(2)
    for kind in (BlobMean, ParamNorms):
        told = [report.__dict__ for report in plain.of(kind)]
        assert told
        assert [report.__dict__ for report in hooked.of(kind)] == [
            {k: v if isinstance(v, str) else pytest.approx(v) for k, v in one.items()}
            for one in told
        ]


def test_debug_info_follows_splits_and_shared_params(place):
    named = 'param { name: "w" } param { name: "b" } inner_product_param'
    net = (
        NET.replace("inner_product_param", named, 1)
        + """
    layer { name: "again" type: "InnerProduct" bottom: "data" top: "again"
      param { name: "w" } param { name: "b" } inner_product_param { num_output: 10 } }
    layer { name: "two" type: "SoftmaxWithLoss" bottom: "again" bottom: "label"
      top: "two" }"""
    )
    (place / "net.prototxt").write_text(net)
    with Run("debug_info: true display: 1") as run:
        run.trainer.step(1)
    found = {(m.direction, m.layer, m.role, m.blob): m.value for m in run.of(BlobMean)}
    split = "label_data_1_split"
    assert found["Forward", split, "top", f"{split}_0"] == pytest.approx(0.5)
    assert found["Forward", "again", "param", "w"] > 0
    first = found["Backward", "again", "param", "0"]
    both = found["Backward", "ip", "param", "0"]
    assert both == pytest.approx(2 * first, rel=1e-5)  # gradients are added up


# -- requests ------------------------------------------------------------------


class Requests:
    """Answers `flags` at the given call, else nothing."""

    def __init__(self, at, flags):
        self.calls, self.at, self.flags = 0, at, flags

    def __call__(self):
        self.calls += 1
        return self.flags if self.calls == self.at else 0


def test_a_request_to_stop_is_followed_after_the_iteration():
    with Run("max_iter: 10", requested=Requests(3, STOP)) as run:
        run.trainer.solve()
        assert run.trainer.iteration == 3
        assert run.trainer.stopped
    assert run.of(Snapshotting)[0].path == "solver_iter_3.caffemodel"
    assert run.told[-1] == Finished(3, early=True)


def test_a_request_for_a_snapshot_does_not_stop():
    with Run("max_iter: 4", requested=Requests(2, SNAPSHOT)) as run:
        run.trainer.solve()
        assert not run.trainer.stopped
    paths = [r.path for r in run.of(Snapshotting) if r.kind == "weights"]
    assert paths == ["solver_iter_2.caffemodel", "solver_iter_4.caffemodel"]


def test_both_requests_make_one_snapshot():
    with Run("max_iter: 9", requested=Requests(2, STOP | SNAPSHOT)) as run:
        run.trainer.solve()
    paths = [r.path for r in run.of(Snapshotting) if r.kind == "weights"]
    assert paths == ["solver_iter_2.caffemodel"]


def test_a_request_during_a_test_ends_the_test():
    with Run(TEST + "max_iter: 9", requested=Requests(2, STOP)) as run:
        run.trainer.solve()
        assert run.trainer.iteration == 0
    assert run.of(reports.Tested) == [reports.Tested((), interrupted=True)]
    assert run.told[-1] == Finished(0, early=True)


# -- weights and names ---------------------------------------------------------


def test_weights_come_from_several_files(place):
    with Run("snapshot: 1") as run:
        run.trainer.step(1)
        weights = run.weights()
    (place / "net.prototxt").write_text(NET.replace('"ip"', '"other"'))
    with Run("snapshot: 2") as run:
        run.trainer.step(2)
    text = 'weights: "solver_iter_1.caffemodel,solver_iter_2.caffemodel"'
    (place / "net.prototxt").write_text(NET)
    with Run(text) as run:
        assert same_weights(weights, run.weights())
    assert [r.path for r in run.of(Finetuning)] == [
        "solver_iter_1.caffemodel",
        "solver_iter_2.caffemodel",
    ]
    assert run.of(Finetuning)[1].ignored == ("other",)


@pytest.mark.parametrize("name", ["adam", "ADAM", "Adam", "aDaM"])
def test_a_type_may_be_in_any_case(name):
    with Run(f'type: "{name}"') as run:
        assert run.trainer.training.rule.type_name == "Adam"


def test_an_unknown_type_is_named():
    with pytest.raises(InputError, match="did you mean 'Nesterov'"):
        Run('type: "Nesterof"')


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('type: "Adm"', "unknown solver type 'Adm'; did you mean 'Adam'?"),
        ('lr_policy: "fixd"', "unknown lr_policy 'fixd'; did you mean 'fixed'?"),
        ('lr_policy: "step"', "lr_policy 'step' needs a stepsize above 0, not 0"),
        ("iter_size: 0", "iter_size is 0; it must be at least 1"),
        (
            'weight_decay: 1 regularization_type: "L3"',
            "unknown regularization_type 'L3'",
        ),
    ],
)
def test_a_wrong_number_of_a_solver_has_its_line(line, said):
    text = f'net: "absent.prototxt"\nbase_lr: 0.1\n{line}\nmax_iter: 1'
    document = prototxt.parse_solver(text, "s.prototxt")
    with pytest.raises(InputError) as error:
        Trainer(document.message, "s.prototxt", document=document)
    assert str(error.value).startswith(f"s.prototxt:3: {said}")
