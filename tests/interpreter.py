"""The plainest way to run a net: layer after layer, an array for everything.

It knows no plan, engine or parameter server. Layer tests run on it, and the planned
execution is compared with it.
"""

import numpy as np

import prototxt
from geeps_caffe.device.philox import Stream
from geeps_caffe.graph.filter import NetState, included
from geeps_caffe.layers import LAYERS
from geeps_caffe.layers.base import Blob, Run, Setting, saved_of_operation


class Interpreter:
    """A net from text; `data`, `diff` by blob name, `params` by layer name."""

    def __init__(self, text, phase="TRAIN", level=0, stages=(), dtype=np.float32):
        self.dtype, self.phase = np.dtype(dtype), phase
        message = prototxt.parse_net(text, "test.prototxt").message
        state = NetState(phase, level, tuple(stages))
        self.message = message
        self.specs = [spec for spec in message.layer if included(spec, state)]
        setting = Setting(phase=phase, level=level, stages=tuple(stages))
        self.layers = [LAYERS[spec.type](spec, setting) for spec in self.specs]
        self.data, self.diff, self.params, self.shared = {}, {}, {}, {}
        self.iteration, self.ready = 0, set()

    def forward(self, **inputs):
        """Run all layers; inputs replace the tops of Input layers."""
        self.tape = []
        for index, (spec, layer) in enumerate(zip(self.specs, self.layers, strict=True)):
            if spec.type == "Input":
                for top in spec.top:
                    self.data[top] = np.array(inputs[top], self.dtype)
                continue
            self._run(index, spec, layer)
        self.iteration += 1
        return self.data

    def _run(self, index, spec, layer):
        bottom = [Blob(self.data[name]) for name in spec.bottom]
        shapes = [blob.shape for blob in bottom]
        if index not in self.ready:
            layer.setup(shapes)
        tops = layer.infer_shapes(shapes)
        if index not in self.ready:
            self.params[spec.name] = self._make_params(spec, layer, shapes)
            self.ready.add(index)
        shares = bool(layer.shares)
        top = [
            Blob(bottom[0].data.reshape(s) if shares else np.zeros(s, self.dtype))
            for s in tops
        ]
        run = Run(np, self.params[spec.name], self._saved(layer, shapes, tops), None)
        batch = (shapes or tops)[0]
        run.random = Stream(1, index, self.iteration, np.arange(batch[0] if batch else 1))
        run.iteration = self.iteration
        layer.forward(run, bottom, top)
        names = [*spec.top, *(f"({spec.name}:{i})" for i in range(len(spec.top), len(top)))]
        for name, blob in zip(names, top, strict=False):
            self.data[name] = blob.data
        self.tape.append((spec, layer, run, bottom, top, names))

    def _make_params(self, spec, layer, shapes):
        blobs = []
        for i, p in enumerate(layer.param_specs(shapes)):
            name = spec.param[i].name if i < len(spec.param) else ""
            blob = Blob(np.zeros(p.shape, self.dtype), np.zeros(p.shape, self.dtype))
            blobs.append(self.shared.setdefault(name, blob) if name else blob)
        return blobs

    def _saved(self, layer, shapes, tops):
        if layer.operation() is not None:
            ports = {f"bottom{i}": s for i, s in enumerate(shapes)}
            ports |= {f"top{i}": s for i, s in enumerate(tops)}
            specs = saved_of_operation(layer.operation(), ports, self.dtype)
        else:
            specs = layer.saved_specs(shapes)
        return [np.zeros(s.shape, s.dtype or self.dtype) for s in specs]

    def loss(self):
        """The weighted sum of the loss tops of the last forward."""
        total = 0.0
        for spec, layer, _, _, top, _ in self.tape:
            for weight, blob in zip(self.weights(spec, layer, len(top)), top, strict=False):
                total += weight * float(blob.data.sum())
        return total

    @staticmethod
    def weights(spec, layer, tops):
        if spec.loss_weight:
            return list(spec.loss_weight)
        return [1.0 if layer.is_loss and i == 0 else 0.0 for i in range(tops)]

    def backward(self, topdiff=None):
        """Run all layers backward; `topdiff` replaces the loss weights.

        Leaves `diff` by blob name (of the blob's state before in-place layers) and
        the gradients in `params[layer][i].diff`.
        """
        for blobs in self.params.values():
            for blob in blobs:
                blob.diff[...] = 0
        grads = {}  # id of a Blob's data owner entry -> gradient so far
        for spec, layer, run, bottom, top, names in reversed(self.tape):
            weights = self.weights(spec, layer, len(top))
            for i, (name, blob) in enumerate(zip(names, top, strict=True)):
                diff = grads.pop(name, None)
                if diff is None:
                    diff = np.full(blob.shape, weights[i], self.dtype)
                if topdiff and name in topdiff:
                    diff = np.array(topdiff[name], self.dtype).reshape(blob.shape)
                blob.diff = diff
                self.diff[name] = diff
            self._backward_layer(spec, layer, run, bottom, top, grads)
        self.diff.update(grads)

    def _backward_layer(self, spec, layer, run, bottom, top, grads):
        params = [Blob(p.data, np.zeros_like(p.data)) for p in run.params]
        inputs = [
            Blob(b.data, np.zeros_like(b.data) if layer.keeps_gradient(i) else None)
            for i, b in enumerate(bottom)
        ]
        run = Run(np, params, run.saved, run.random, run.iteration)
        if layer.shares == "both":
            inputs[0].diff[...] = top[0].diff.reshape(inputs[0].diff.shape)
        else:
            layer.backward(run, top, inputs)
        for owner, mine in zip(self.params[spec.name], params, strict=True):
            owner.diff += mine.diff
        for name, blob in zip(spec.bottom, inputs, strict=True):
            if blob.diff is not None:
                known = grads.get(name)
                grads[name] = blob.diff if known is None else known + blob.diff
