import shutil
import sys

import numpy as np
import pytest

from geeps_caffe.commands.run import main
from geeps_caffe.errors import InputError, UsageError


def write(folder, text):
    path = folder / "script.py"
    path.write_text(text)
    return str(path)


def test_a_script_of_pycaffe_runs_as_it_is(job, capsys):
    script = write(
        job,
        "import caffe\n"
        "from caffe import SGDSolver\n"
        "caffe.set_mode_cpu()\n"
        "solver = SGDSolver('solver.prototxt')\n"
        "solver.step(1)\n"
        "print(solver.iter, solver.net.blobs['ip'].data.shape)\n",
    )
    assert main([script]) == 0
    assert capsys.readouterr().out == "1 (4, 2)\n"
    assert "caffe" not in sys.modules


def test_both_names_are_one_module(tmp_path, capsys):
    script = write(
        tmp_path,
        "import caffe, caffe.net, geeps_caffe.caffe.net\n"
        "print(caffe.net is geeps_caffe.caffe.net, caffe.net.__spec__.name)\n",
    )
    assert main([script]) == 0
    assert capsys.readouterr().out == "True geeps_caffe.caffe.net\n"


def test_the_script_has_its_arguments_and_its_folder(tmp_path, capsys):
    (tmp_path / "beside.py").write_text("NAME = 'beside'\n")
    script = write(
        tmp_path, "import sys, beside\nprint(sys.argv[1:], beside.NAME, __name__)\n"
    )
    assert main([script, "--gpu", "0"]) == 0
    assert capsys.readouterr().out == "['--gpu', '0'] beside __main__\n"
    assert str(tmp_path) not in sys.path


def test_an_exception_of_the_script_is_shown_as_python_does(tmp_path, capsys):
    assert main([write(tmp_path, "raise ValueError('mine')\n")]) == 1
    error = capsys.readouterr().err
    assert "ValueError: mine" in error
    assert "fault of geeps-caffe" not in error


def test_a_module_that_caffe_has_and_we_have_not_is_named(tmp_path, capsys):
    assert main([write(tmp_path, "import caffe.nosuch\n")]) == 1
    assert "geeps-caffe has no module 'caffe.nosuch'" in capsys.readouterr().err


def test_the_scripts_exit_code_is_kept(tmp_path):
    with pytest.raises(SystemExit) as exit_code:
        main([write(tmp_path, "raise SystemExit(3)\n")])
    assert exit_code.value.code == 3


def test_a_script_is_needed(tmp_path):
    with pytest.raises(UsageError, match="give a script"):
        main([])
    with pytest.raises(InputError, match="no such script"):
        main([str(tmp_path / "absent.py")])


CLASSIFY = """
import argparse, os, sys, time
import numpy as np
import caffe

parser = argparse.ArgumentParser()
parser.add_argument("input_file")
parser.add_argument("output_file")
parser.add_argument("--model_def", default="deploy.prototxt")
parser.add_argument("--pretrained_model", default="deploy.caffemodel")
parser.add_argument("--gpu", action="store_true")
parser.add_argument("--center_only", action="store_true")
parser.add_argument("--images_dim", default="256,256")
parser.add_argument("--mean_file", default="")
parser.add_argument("--input_scale", type=float)
parser.add_argument("--raw_scale", type=float, default=255.0)
parser.add_argument("--channel_swap", default="2,1,0")
parser.add_argument("--ext", default="png")
args = parser.parse_args()

image_dims = [int(s) for s in args.images_dim.split(",")]
mean = np.load(args.mean_file) if args.mean_file else None
channel_swap = [int(s) for s in args.channel_swap.split(",")]
if args.gpu:
    caffe.set_mode_gpu()
else:
    caffe.set_mode_cpu()
classifier = caffe.Classifier(args.model_def, args.pretrained_model,
        image_dims=image_dims, mean=mean, input_scale=args.input_scale,
        raw_scale=args.raw_scale, channel_swap=channel_swap)
args.input_file = os.path.expanduser(args.input_file)
if args.input_file.endswith("npy"):
    inputs = np.load(args.input_file)
elif os.path.isdir(args.input_file):
    names = sorted(n for n in os.listdir(args.input_file) if n.endswith(args.ext))
    inputs = [caffe.io.load_image(os.path.join(args.input_file, n)) for n in names]
else:
    inputs = [caffe.io.load_image(args.input_file)]
start = time.time()
predictions = classifier.predict(inputs, not args.center_only)
print("Done in %.2f s." % (time.time() - start))
np.save(args.output_file, predictions)
"""


@pytest.mark.parametrize("kind", ["oversample", "center"])
def test_a_script_that_classifies_gives_pycaffes_scores(tmp_path, golden, capsys, kind):
    recorded = golden / "pycaffe"
    images = tmp_path / "images"
    images.mkdir()
    for name in ("p00.png", "v0.png"):
        shutil.copy(recorded / "images" / name, images)
    np.save(tmp_path / "mean.npy", np.array([104, 117, 123]))
    out = tmp_path / "scores.npy"
    words = f"{images} {out} --images_dim 40,44 --input_scale 0.5".split()
    words += ["--mean_file", str(tmp_path / "mean.npy")]
    words += ["--model_def", str(recorded / "deploy_img.prototxt")]
    words += ["--pretrained_model", str(recorded / "deploy_img.caffemodel")]
    words += ["--center_only"] if kind == "center" else []
    assert main([write(tmp_path, CLASSIFY), *words]) == 0
    assert "Done in" in capsys.readouterr().out
    with np.load(recorded / "classifier_detector.npz") as arrays:
        wanted = arrays[f"predict_{kind}"]
    np.testing.assert_allclose(np.load(out), wanted, 1e-3, 1e-5)


SURGERY = """
import numpy as np
import caffe
from caffe import layers as L, params as P
from google.protobuf import text_format
from caffe.proto import caffe_pb2

def small(shape):
    n = caffe.NetSpec()
    n.data = L.Input(shape=dict(dim=shape))
    n.conv = L.Convolution(n.data, num_output=2, kernel_size=3,
                           weight_filler=dict(type="xavier"))
    n.relu = L.ReLU(n.conv, in_place=True)
    n.pool = L.Pooling(n.relu, pool=P.Pooling.MAX, kernel_size=2, stride=2)
    n.ip = L.InnerProduct(n.pool, num_output=3, weight_filler=dict(type="xavier"))
    n.prob = L.Softmax(n.ip)
    return n.to_proto()

with open("small.prototxt", "w") as f:
    f.write(str(small([1, 1, 6, 6])))
read = caffe_pb2.NetParameter()
with open("small.prototxt") as f:
    text_format.Merge(f.read(), read)
net = caffe.Net("small.prototxt", caffe.TEST)
assert [l.name for l in read.layer] == list(net._layer_names)
for name, blob in net.blobs.items():
    print(name, tuple(blob.data.shape))
for name, params in net.params.items():
    params[0].data[...] = 1
    params[1].data[:] = np.arange(len(params[1].data))
net.blobs["data"].reshape(2, 1, 6, 6)
net.blobs["data"].data[...] = -1
net.reshape()
print(net.forward()["prob"].argmax(axis=1), net.blobs["conv"].data.max())
net.save("small.caffemodel")
other = caffe.Net("small.prototxt", "small.caffemodel", caffe.TEST)
saved = caffe_pb2.NetParameter()
with open("small.caffemodel", "rb") as f:
    saved.ParseFromString(f.read())
print(caffe.io.blobproto_to_array(saved.layer[1].blobs[1]).tolist())
print((other.params["ip"][0].data == 1).all())
"""


def test_a_script_that_writes_a_net_and_its_weights(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([write(tmp_path, SURGERY)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "data (1, 1, 6, 6)",
        "conv (1, 2, 4, 4)",
        "pool (1, 2, 2, 2)",
        "ip (1, 3)",
        "prob (1, 3)",
        "[2 2] 0.0",  # convolutions sum up -9 + 0 and -9 + 1
        "[0.0, 1.0]",
        "True",
    ]
