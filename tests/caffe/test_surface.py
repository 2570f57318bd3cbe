"""The names of pycaffe that scripts call, and that they do what pycaffe's do."""

import logging

import numpy as np
import pytest

from geeps_caffe import caffe
from geeps_caffe.caffe.timer import Timer
from geeps_caffe.commands.run import caffe_answered
from geeps_caffe.errors import UsageError
from tests.commands.small_job import write_job

NAMES = """
set_mode_cpu set_mode_gpu set_device set_random_seed init_log log layer_type_list
has_nccl Timer set_solver_count set_solver_rank solver_count solver_rank
set_multiprocess TRAIN TEST __version__
Net get_solver SGDSolver NesterovSolver AdaGradSolver RMSPropSolver AdaDeltaSolver
AdamSolver Layer layers params NetSpec to_proto io proto Classifier Detector
io.Transformer io.load_image io.resize_image io.oversample io.array_to_datum
io.datum_to_array io.blobproto_to_array io.array_to_blobproto io.caffe_pb2
proto.caffe_pb2
"""
NET_NAMES = """
blobs params layers layer_dict _layer_names inputs outputs top_names bottom_names
blob_loss_weights forward backward forward_all forward_backward_all copy_from share_with
save save_hdf5 load_hdf5 reshape clear_param_diffs set_input_arrays before_forward
after_forward before_backward after_backward _blob_names _blob_loss_weights _inputs
_outputs _top_ids _bottom_ids _blobs _forward _backward name
"""
SOLVER_NAMES = """
net test_nets iter lr param step solve restore snapshot apply_update share_weights
add_callback type
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_a_name_of_pycaffe_is_there(name):
    found = caffe
    for part in name.split("."):
        found = getattr(found, part)


@pytest.fixture
def api(golden):
    """A net with recorded weights: Convolution, ReLU, InnerProduct; batches of 3."""
    folder = golden / "pycaffe"
    weights = str(folder / "api.caffemodel")
    with np.load(folder / "net_api.npz") as recorded:
        net = caffe.Net(str(folder / "api.prototxt"), weights, caffe.TEST)
        yield net, recorded


@pytest.fixture
def solver(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_job(tmp_path)
    return caffe.get_solver("solver.prototxt")


@pytest.mark.parametrize("name", NET_NAMES.split())
def test_a_name_of_nets_is_there(api, name):
    getattr(api[0], name)


@pytest.mark.parametrize("name", SOLVER_NAMES.split())
def test_a_name_of_solvers_is_there(solver, name):
    getattr(solver, name)


def agree(found, wanted):
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)


# -- nets, beside what the real pycaffe computed ---------------------------------


@pytest.mark.parametrize("ending", ["caffemodel", "caffemodel.h5"])
def test_recorded_weights_are_read(golden, api, ending):
    net, recorded = api
    other = caffe.Net(str(golden / "pycaffe" / "api.prototxt"), caffe.TEST)
    load = other.load_hdf5 if ending.endswith("h5") else other.copy_from
    load(str(golden / "pycaffe" / f"api.{ending}"))
    for layer in ("c1", "ip"):
        for i in (0, 1):
            wanted = recorded[f"param/{layer}/{i}"]
            np.testing.assert_array_equal(other.params[layer][i].data, wanted)
            np.testing.assert_array_equal(net.params[layer][i].data, wanted)


def test_parts_run_as_in_pycaffe(api):
    net, recorded = api
    found = net.forward(["c1"], data=recorded["in/data"])
    agree(found["ip"], recorded["forward/ip"])
    agree(found["c1"], recorded["forward/c1"])
    agree(net.forward(end="r1")["r1"], recorded["forward_end_r1/r1"])
    net.blobs["r1"].data[...] = 0.5  # as was done to record it
    agree(net.forward(start="ip")["ip"], recorded["forward_start_ip/ip"])
    net.forward(data=recorded["in/data"])
    found = net.backward(["r1"], ip=recorded["topdiff/ip"])
    agree(found["data"], recorded["backward/data"])
    agree(found["r1"], recorded["backward/r1"])


def test_more_records_than_a_batch_run_as_in_pycaffe(api):
    net, recorded = api
    agree(net.forward_all(data=recorded["all/in"])["ip"], recorded["forward_all/ip"])
    outputs, diffs = net.forward_backward_all(
        data=recorded["all/in"], ip=recorded["all/topdiff"]
    )
    agree(outputs["ip"], recorded["forward_backward_all/ip"])
    agree(diffs["data"], recorded["forward_backward_all/data"])


def test_batches_of_no_or_unequal_records_are_refused(api):
    with pytest.raises(ValueError, match="no arrays"):
        api[0].forward_all()
    with pytest.raises(ValueError, match="different numbers of records"):
        api[0].forward_all(data=np.ones((4, 2, 6, 6)), ip=np.ones((3, 2)))


@pytest.mark.parametrize("shape", [(3, 6, 6, 2), (2, 2, 6, 6), (3, 2, 6, 5)])
def test_an_input_of_another_shape_is_refused(api, shape):
    with pytest.raises(ValueError, match=r"but the blob has \(3, 2, 6, 6\)"):
        api[0].forward(data=np.ones(shape))


def test_ids_and_names_belong_together(api):
    net, _ = api
    assert net._blob_names == ["data", "c1", "r1", "ip"]
    assert (net._inputs, net._outputs) == ([0], [3])
    assert (net._bottom_ids(2), net._top_ids(2)) == ([1], [2])
    assert net._blobs[1].shape == (3, 3, 4, 4)
    assert net.layer_dict["c1"].type == "Convolution"
    assert net.bottom_names["ip"] == ["r1"]
    assert set(net._blob_loss_weights) == {0}


def test_weights_are_saved_in_hdf5_whatever_the_name(api, tmp_path):
    net, recorded = api
    file = str(tmp_path / "weights.bin")
    net.save_hdf5(file)
    net.params["ip"][0].data[...] = 0
    net.load_hdf5(file)
    np.testing.assert_array_equal(net.params["ip"][0].data, recorded["param/ip/0"])


def test_layers_are_told_of_before_and_after(api):
    net, recorded = api
    said = []
    net.before_forward(lambda layer: said.append(("before", layer)))
    net.after_forward(
        lambda layer: said.append((layer, float(net._blobs[layer].data.ravel()[0])))
    )
    out = net.forward(data=recorded["in/data"])["ip"]
    assert [entry[:1] if entry[0] != "before" else entry for entry in said] == [
        told for layer in range(4) for told in (("before", layer), (layer,))
    ]
    assert said[-1] == (3, pytest.approx(float(out[0, 0]), rel=1e-5))
    agree(out, recorded["forward/ip"])
    back = []
    net.before_backward(back.append)
    net.after_backward(back.append)
    net.backward(ip=recorded["topdiff/ip"])
    assert back == [3, 3, 2, 2, 1, 1, 0, 0]


def test_parts_have_pycaffes_inner_names(api):
    net, recorded = api
    net.blobs["data"].data[...] = recorded["in/data"]
    net._forward(0, len(net.layers) - 1)
    agree(net.blobs["ip"].data, recorded["forward/ip"])
    net.blobs["ip"].diff[...] = recorded["topdiff/ip"]
    net._backward(len(net.layers) - 1, 0)
    agree(net.blobs["data"].diff, recorded["backward/data"])


# -- solvers ---------------------------------------------------------------------


def test_gradients_that_python_wrote_are_applied(solver):
    weights = solver.net.params["ip"][0]
    weights.data[...] = 0
    weights.diff[...] = 1
    solver.net.params["ip"][1].diff[...] = 0
    solver.apply_update()
    np.testing.assert_allclose(weights.data, -0.1 * np.ones((2, 3)), 1e-6)
    assert solver.iter == 1


def test_a_step_by_hand_is_a_step(solver, tmp_path):
    other = caffe.get_solver("solver.prototxt")
    solver.step(2)
    for _ in range(2):
        other.net.clear_param_diffs()
        other.net.forward()
        other.net.backward()
        other.apply_update()
    assert other.iter == 2
    for i in (0, 1):
        np.testing.assert_allclose(
            other.net.params["ip"][i].data, solver.net.params["ip"][i].data, 1e-5, 1e-6
        )


def test_callbacks_come_before_the_batch_and_before_its_update(solver):
    plain = caffe.get_solver("solver.prototxt")
    plain.step(2)
    said = []
    weights = solver.net.params["ip"][0]
    solver.add_callback(
        lambda: said.append(("start", weights.data.copy())),
        lambda: said.append(("ready", weights.data.copy(), weights.diff.copy())),
    )
    solver.step(2)
    assert [entry[0] for entry in said] == ["start", "ready"] * 2
    np.testing.assert_array_equal(said[0][1], said[1][1])
    np.testing.assert_allclose(said[2][1], said[1][1] - 0.1 * said[1][2], 1e-5, 1e-6)
    np.testing.assert_allclose(weights.data, plain.net.params["ip"][0].data, 1e-5, 1e-6)


def test_a_callback_may_change_gradients(solver):
    weights = solver.net.params["ip"][0]
    before = weights.data.copy()
    solver.add_callback(lambda: None, lambda: weights.diff.fill(2))
    solver.step(1)
    np.testing.assert_allclose(weights.data, before - 0.2, 1e-5)


def test_values_that_python_assigns_are_trained_on(solver):
    solver.net.params["ip"][0].data[...] = 3
    solver.net.params["ip"][1].data[...] = 0
    out = solver.test_nets[0].forward(end="ip")["ip"]
    data = solver.test_nets[0].blobs["data"].data
    np.testing.assert_allclose(out, 3 * data.sum(axis=1, keepdims=True) * [1, 1], 1e-4)
    assert (solver.test_nets[0].params["ip"][0].data == 3).all()
    solver.param.base_lr = 0
    solver.step(1)
    assert (solver.net.params["ip"][0].data == 3).all()


def test_another_net_uses_the_solvers_weights(solver):
    net = caffe.Net("net.prototxt", caffe.TEST)
    solver.share_weights(net)
    solver.net.params["ip"][0].data[...] = 7
    assert (net.params["ip"][0].data == 7).all()
    solver.test_nets[0].share_with(solver.net)
    assert (solver.test_nets[0].params["ip"][0].data == 7).all()


# -- the process -----------------------------------------------------------------


@pytest.fixture
def quiet():
    """Python's logging as it was, after a test that opens the log."""
    logger = logging.getLogger("geeps_caffe")
    handlers, level = list(logger.handlers), logger.level
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)


def test_a_solver_logs_as_caffe_does_once_the_log_is_open(solver, quiet, capfd):
    solver.step(1)
    assert "Iteration" not in capfd.readouterr().err
    caffe.init_log()
    caffe.init_log()
    solver.step(1)
    caffe.log("mine")
    said = capfd.readouterr().err
    assert said.count("Iteration 1, lr = 0.1") == 1
    assert "solver.cpp:" in said
    assert "_caffe.cpp:1] mine" in said


def test_levels_of_the_log_are_those_of_glog(solver, quiet, capfd, monkeypatch):
    monkeypatch.setenv("GLOG_minloglevel", "2")
    caffe.init_log()
    solver.step(1)
    assert not capfd.readouterr().err


def test_several_solvers_of_a_process_are_not_pretended():
    assert caffe.has_nccl() is False
    assert (caffe.solver_count(), caffe.solver_rank()) == (1, 0)
    caffe.set_solver_count(1)
    caffe.set_solver_rank(0)
    caffe.set_multiprocess(True)
    with pytest.raises(UsageError, match="geeps-caffe train"):
        caffe.set_solver_count(2)
    with pytest.raises(UsageError, match="geeps-caffe train"):
        caffe.set_solver_rank(1)


@pytest.mark.parametrize("call", [caffe.NCCL.new_uid, lambda: caffe.NCCL(None, b"")])
def test_scripts_that_ask_for_nccl_are_told_what_to_do(call):
    with pytest.raises(UsageError, match="geeps-caffe train -gpu all"):
        call()


def test_layer_types_are_listed():
    assert {"Convolution", "Python", "Data"} <= set(caffe.layer_type_list())


def test_a_timer_measures():
    timer = Timer()
    timer.start()
    timer.stop()
    assert timer.us == pytest.approx(1e3 * timer.ms)
    assert timer.ms == pytest.approx(1e3 * timer.seconds)
    assert timer.seconds >= 0


def test_scripts_import_parts_under_caffes_name():
    with caffe_answered():
        import caffe.coord_map  # noqa: PLC0415
        from caffe import layers, params  # noqa: PLC0415
        from caffe.io import load_image  # noqa: PLC0415
        from caffe.proto import caffe_pb2  # noqa: PLC0415

        assert caffe.coord_map.crop and load_image and caffe_pb2.NetParameter
        assert layers.ReLU and params.Pooling.MAX == 0


def test_python_layers_are_told_which_worker_they_serve(monkeypatch):
    """Their sources read every count-th record."""
    for name, value in (("AGENT", "socket"), ("RANK", "2"), ("RANKS", "3")):
        monkeypatch.setenv(f"GEEPS_CAFFE_{name}", value)
    assert (caffe.solver_rank(), caffe.solver_count()) == (2, 3)
    caffe.set_solver_count(3)
    caffe.set_solver_rank(2)
    with pytest.raises(UsageError, match="3 train together"):
        caffe.set_solver_count(1)
    with pytest.raises(UsageError, match=r"this is 2 of 3"):
        caffe.set_solver_rank(0)
