"""Pictures go to a GPU as bytes from pinned memory, ahead of need.

On the double, which runs copies as late as their events allow and checks their order.
"""

import cv2
import h5py
import numpy as np
import pytest

from geeps_caffe.caffe import TRAIN, Net
from geeps_caffe.data.datum import DatumMessage, write_datum, write_encoded
from geeps_caffe.data.packed import PackedFeed
from geeps_caffe.data.reader import DEPTH
from geeps_caffe.data.sampler import Batch
from geeps_caffe.data.staging import Staging
from geeps_caffe.data.transform import Transform
from geeps_caffe.engines.cuda.engine import CudaEngine
from tests.cuda_double.fixtures import double
from tests.cuda_double.order import OrderError
from tests.data.databases import make_database
from tests.data.test_packed import Decoded

__all__ = ["double"]

NET = """
layer { name: "data" type: "Data" top: "data" top: "label"
  data_param { source: "PATH" backend: LMDB batch_size: 4 }
  transform_param { crop_size: 5 mirror: true scale: 0.1 MORE } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
STEPS = 7
MEANS = {"a mean": "mean_value: 100", "means": "mean_value: [1.5, 90, 3]", "none": ""}


def pictures(rng, count=10):
    return [rng.integers(0, 256, (3, 9, 8), np.uint8) for _ in range(count)]


def database(path, images):
    return make_database(path, [write_datum(x, i % 3) for i, x in enumerate(images)])


def batches(tmp_path, text, engine, names=("data", "label")):
    """What the source's tops hold in some steps."""
    (tmp_path / "net.prototxt").write_text(text)
    net = Net(str(tmp_path / "net.prototxt"), TRAIN, engine=engine)
    found = []
    for _ in range(STEPS):
        net.forward()
        found += [np.array(net.blobs[name].data) for name in names]
    return found


def same(found, wanted):
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("mean", MEANS)
def test_a_kernel_makes_the_bits_of_the_host(double, tmp_path, mean, rng):
    path = database(tmp_path / "db", pictures(rng))
    text = NET.replace("PATH", path).replace("MORE", MEANS[mean])
    found = batches(tmp_path, text, "cuda")
    same(found, batches(tmp_path, text, "reference"))
    assert double.machine.kernels["transform"] == STEPS
    assert not double.machine.pageable


def test_pictures_of_floats_come_from_pinned_memory_too(double, tmp_path, rng):
    records = []
    for i in range(10):
        datum = DatumMessage(channels=3, height=9, width=8, label=i % 3)
        datum.float_data.extend(rng.standard_normal(3 * 9 * 8))
        records.append(datum.SerializeToString())
    path = make_database(tmp_path / "db", records)
    text = NET.replace("PATH", path).replace("MORE", "")
    same(batches(tmp_path, text, "cuda"), batches(tmp_path, text, "reference"))
    assert not double.machine.kernels["transform"]
    assert double.machine.kernels["copy in"] == 2 * STEPS
    assert not double.machine.pageable


def test_so_do_pictures_of_sizes_of_their_own(double, tmp_path, rng):
    records = []
    for i in range(5):
        image = rng.integers(0, 256, (4 + i % 2, 6, 3), np.uint8)
        records.append(write_encoded(cv2.imencode(".png", image)[1].tobytes(), i))
    path = make_database(tmp_path / "db", records)
    text = f"""
    layer {{ name: "data" type: "Data" top: "data"
      data_param {{ source: "{path}" backend: LMDB batch_size: 1 }} }}"""
    found = batches(tmp_path, text, "cuda", ["data"])
    same(found, batches(tmp_path, text, "reference", ["data"]))
    assert double.machine.kernels["copy in"] == STEPS
    before = len(double.machine.pageable)  # read before there was a plan for them
    assert before <= DEPTH + 1 < STEPS


def test_so_do_other_sources(double, tmp_path, rng):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = rng.standard_normal((10, 5)).astype(np.float32)
        file["y"] = np.arange(10, dtype=np.float32)
    (tmp_path / "list.txt").write_text(f"{tmp_path}/x.h5\n")
    text = f"""
    layer {{ name: "data" type: "HDF5Data" top: "y" top: "x"
      hdf5_data_param {{ source: "{tmp_path}/list.txt" batch_size: 3 }} }}"""
    found = batches(tmp_path, text, "cuda", "xy")
    same(found, batches(tmp_path, text, "reference", "xy"))
    assert double.machine.kernels["copy in"] == 2 * STEPS
    assert not double.machine.pageable


class Blocks:
    """A Reader of packed batches that are there from the start, or come late."""

    def __init__(self, images, transform, late=False):
        self.feed = PackedFeed(Decoded(images, transform), transform)
        self.images, self.late, self.taken = images, late, 0
        self.memory, self.made = None, {}

    def use_memory(self, memory):
        self.memory = memory

    def batch(self, number):
        if number not in self.made:
            numbers = np.arange(2) + 2 * number
            batch = Batch(numbers, numbers % len(self.images))
            decoded = self.feed.decode(batch, self.feed.fetch(batch))
            ((size,),) = decoded.shapes
            block = self.memory(4 * size).view(np.float32)
            self.feed.write(batch, decoded, [block])
            self.made[number] = (block,)
        return self.made[number]

    def next(self):
        self.taken += 1
        return self.batch(self.taken - 1)

    def waiting(self):
        return None if self.late else self.batch(self.taken)


TRANSFORM = Transform(scale=0.5, mean_values=(3.0,))


class Fed:
    """Staging over Blocks, and its tops."""

    def __init__(self, images, late=False):
        self.engine, self.images = CudaEngine(), images
        self.reader, device = Blocks(images, TRANSFORM, late), self.engine.device
        functions = self.engine.functions(np.float32)
        args = (self.reader, device, self.engine.xp, functions, TRANSFORM)
        self.staging = Staging(*args)
        shapes = ((2, 3, 9, 8), (2,))
        self.tops = [self.engine.xp.zeros(s, np.float32) for s in shapes]

    def fill(self):
        """The images of the next batch are in the tops."""
        number = self.reader.taken
        with self.engine.device.running():
            self.staging.fill(self.tops)
        numbers = (np.arange(2) + 2 * number) % len(self.images)
        wanted = np.array([self.images[i] for i in numbers], np.float32)
        same([self.tops[0].get()], [(wanted - 3) * np.float32(0.5)])
        same([self.tops[1].get()], [10 + numbers])


def copies(double):
    return double.machine.kernels["copy in"]


def test_the_next_batch_is_copied_ahead(double, rng):
    fed = Fed(pictures(rng))
    for step in range(4):
        fed.fill()
        assert copies(double) == step + 2
    assert not double.machine.pageable


def test_a_batch_that_is_late_is_copied_when_it_is_asked_for(double, rng):
    fed = Fed(pictures(rng), late=True)
    for step in range(4):
        fed.fill()
        assert copies(double) == step + 1


def test_a_copy_of_what_is_not_read_next_is_left(double, rng):
    """As after a run went back to a snapshot: batch 1 has other pictures then."""
    fed = Fed(pictures(rng))
    fed.fill()
    fed.images.reverse()
    fed.reader.made.clear()
    fed.fill()
    assert copies(double) == 4


@pytest.mark.parametrize("missing", ["bind_wait", "bind_record"])
def test_a_missing_event_is_found(double, rng, monkeypatch, missing):
    fed = Fed(pictures(rng))
    queues = type(fed.engine.device.queues)
    monkeypatch.setattr(queues, missing, lambda *args: lambda: None)
    with pytest.raises(OrderError):
        for _ in range(3):
            fed.fill()
