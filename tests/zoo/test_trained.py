import numpy as np
import pytest

from geeps_caffe.caffe import TEST, Net
from geeps_caffe.data.idx import read_idx
from geeps_caffe.errors import GraphError

ENGINES = ("reference", "onednn")

#: Folders of caffemodels/, and the net's file. The derived nets are the authors' less
#: the layers of forks that only training needs.
MODELS = {
    "deeplandmark_1_F": "1_F.prototxt",
    "deeplandmark_2_LE1": "2_LE1.prototxt",
    "lenet_mnist_ethereon": "lenet.prototxt",
    "lenet_normface": "derived_mainline.prototxt",
    "mobilenet_yolov3_lite_tusimple": "derived_mainline.prototxt",
    "mtcnn_det1": "det1.prototxt",
    "mtcnn_det2": "det2.prototxt",
    "mtcnn_fast_det1": "det1_.prototxt",
    "opencv_3dobj_triplet": "3d_triplet_testIMG.prototxt",
    "vanillacnn": "vanilla_deploy.prototxt",
    "waifu2x_anime_rgb_scale2x": "srcnn.prototxt",
    "waifu2x_upresnet10_scale2x": "derived_mainline.prototxt",
    "yoloface_50k": "yoloface-50k.prototxt",
}
#: Models whose nets need a fork's layer, which is named in the error.
OF_FORKS = {
    "wechat_qr_detect": ("detect.prototxt", "Permute"),
    "yoloface_500k_v2": ("yoloface-500k-v2.prototxt", "Upsample"),
}


def trained(folder, name, engine):
    (weights,) = folder.glob("*.caffemodel")
    return Net(str(folder / name), TEST, engine=engine, weights=str(weights))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model", MODELS)
def test_trained_models_give_what_opencv_computed(model, engine, corpus):
    folder = corpus / "caffemodels" / model
    net = trained(folder, MODELS[model], engine)
    recorded = np.load(folder / "opencv_ref.npz")
    for key in recorded.files:
        if key.startswith("in/"):
            net.blobs[key[3:]].reshape(*recorded[key].shape)
            net.blobs[key[3:]].data[...] = recorded[key]
    net.forward()
    outputs = [key[4:] for key in recorded.files if key.startswith("out/")]
    assert outputs
    for layer in outputs:
        top = net.top_names.get(layer, [layer])[0]  # some keys are blobs' names
        found, wanted = net.blobs[top].data, recorded[f"out/{layer}"]
        assert found.shape == wanted.shape
        assert np.abs(found - wanted).max() <= 1e-4 * np.abs(wanted).max(), layer


@pytest.mark.parametrize("model", OF_FORKS)
def test_models_of_forks_are_refused_by_the_name_of_the_layer(model, corpus):
    name, kind = OF_FORKS[model]
    with pytest.raises(GraphError, match=f"type '{kind}' is not of Caffe"):
        trained(corpus / "caffemodels" / model, name, "reference")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_trained_lenet_scores_9914_on_mnist(engine, corpus):
    net = trained(
        corpus / "caffemodels" / "lenet_mnist_ethereon", "lenet.prototxt", engine
    )
    images = read_idx(str(corpus / "data/mnist/t10k-images-idx3-ubyte.gz"), 3)
    labels = read_idx(str(corpus / "data/mnist/t10k-labels-idx1-ubyte.gz"), 1)
    net.blobs["data"].reshape(1000, 1, 28, 28)
    right = 0
    for i in range(0, 10000, 1000):
        net.blobs["data"].data[...] = images[i : i + 1000, None] / np.float32(256)
        scores = net.forward()["prob"]
        right += int((scores.argmax(axis=1) == labels[i : i + 1000]).sum())
    assert right == 9914
