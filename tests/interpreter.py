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


def own_memory(kind, block, shape):
    """A new array for a blob that takes another shape."""
    return np.full(shape, np.nan, block.dtype)


class Call:
    """One layer's part in the last forward."""

    def __init__(self, index, spec, layer, run, bottom, top, names):
        self.index, self.spec, self.layer, self.run = index, spec, layer, run
        self.bottom, self.top, self.names = bottom, top, names

    @property
    def in_place(self):
        return self.layer.in_place and self.names[:1] == list(self.spec.bottom[:1])


class Interpreter:
    """A net from text; `data`, `diff` by blob name, `params` by layer name.

    As in Caffe a layer that may run in place does so, in data and in diff, where its
    top has its bottom's name; and a diff that no parameter needs is not computed,
    unless the net says force_backward.
    """

    def __init__(self, text, phase="TRAIN", level=0, stages=(), dtype=np.float32):
        self.dtype, self.phase = np.dtype(dtype), phase
        self.message = prototxt.parse_net(text, "test.prototxt").message
        state = NetState(phase, level, tuple(stages))
        self.specs = [spec for spec in self.message.layer if included(spec, state)]
        setting = Setting(phase=phase, level=level, stages=tuple(stages))
        self.layers = [
            None if spec.type == "Input" else LAYERS[spec.type](spec, setting)
            for spec in self.specs
        ]
        self.inputs, self.iteration = {}, 0
        self.data, self.diff, self.params, self.shared = {}, {}, {}, {}
        self.states = {}  # by layer name: which params are statistics
        self._build()

    def _build(self):
        """Shapes from the inputs down; params, all zero, come into being."""
        shapes = {}
        for spec, layer in zip(self.specs, self.layers, strict=True):
            if layer is None:
                tops = self._input_shapes(spec)
            else:
                bottoms = [shapes[name] for name in spec.bottom]
                layer.setup(bottoms)
                tops = layer.infer_shapes(bottoms)
                self._make_params(spec, layer, bottoms)
            shapes |= dict(zip(spec.top, map(tuple, tops), strict=False))

    @staticmethod
    def _input_shapes(spec):
        shapes = [tuple(shape.dim) for shape in spec.input_param.shape]
        return shapes if len(shapes) == len(spec.top) else shapes * len(spec.top)

    def _make_params(self, spec, layer, shapes):
        specs = layer.param_specs(shapes)
        self.states[spec.name] = [p.state for p in specs]
        self.params[spec.name] = []
        for i, p in enumerate(specs):
            name = spec.param[i].name if i < len(spec.param) else ""
            blob = Blob(np.zeros(p.shape, self.dtype), np.zeros(p.shape, self.dtype))
            blob = self.shared.setdefault(name, blob) if name else blob
            self.params[spec.name].append(blob)

    # -- forward ---------------------------------------------------------------

    def forward(self, **inputs):
        """Run all layers; inputs replace the tops of Input layers, and are kept."""
        self.inputs |= inputs
        self.tape = []
        for index, (spec, layer) in enumerate(
            zip(self.specs, self.layers, strict=True)
        ):
            if layer is None:
                self._input(spec)
            else:
                self._run(index, spec, layer)
        self.iteration += 1
        return self.data

    def _input(self, spec):
        for top, shape in zip(spec.top, self._input_shapes(spec), strict=True):
            value = self.inputs.get(top, np.zeros(shape))
            self.data[top] = np.array(value, self.dtype)

    def _run(self, index, spec, layer):
        bottom = [Blob(self.data[name]) for name in spec.bottom]
        shapes = [blob.shape for blob in bottom]
        tops = self._top_shapes(layer, shapes)
        top = self._make_tops(spec, layer, bottom, tops)
        saved = self._saved(layer, shapes, tops)
        run = Run(np, self.params[spec.name], saved, self._stream(index, shapes, tops))
        run.iteration = self.iteration
        layer.forward(run, bottom, top)
        unnamed = range(len(spec.top), len(top))
        names = [*spec.top, *(f"({spec.name}:{i})" for i in unnamed)][: len(top)]
        for name, blob in zip(names, top, strict=True):
            self.data[name] = blob.data
        self.tape.append(Call(index, spec, layer, run, bottom, top, names))

    @staticmethod
    def _top_shapes(layer, shapes):
        tops = layer.infer_shapes(shapes)
        pending = layer.pending_shapes() if layer.is_source else None
        return tops if pending is None else pending

    def _stream(self, index, shapes, tops):
        first = next(iter([*shapes, *tops]), ())
        return Stream(1, index, self.iteration, np.arange(first[0] if first else 1))

    def _make_tops(self, spec, layer, bottom, shapes):
        if layer.shares:
            return [Blob(bottom[0].data.reshape(shape)) for shape in shapes]
        top = [
            Blob(np.full(shape, np.nan, self.dtype), fit=own_memory) for shape in shapes
        ]
        if layer.in_place and spec.top[:1] == spec.bottom[:1] and top:
            top[0] = Blob(bottom[0].data)
        return top

    def _saved(self, layer, shapes, tops):
        if layer.operation() is not None:
            ports = {f"bottom{i}": s for i, s in enumerate(shapes)}
            ports |= {f"top{i}": s for i, s in enumerate(tops)}
            specs = saved_of_operation(layer.operation(), ports, self.dtype)
        else:
            specs = layer.saved_specs(shapes)
        return [np.zeros(s.shape, s.dtype or self.dtype) for s in specs]

    # -- loss ------------------------------------------------------------------

    def loss(self):
        """The weighted sum of the loss tops of the last forward."""
        return sum(
            weight * float(blob.data.sum())
            for call in self.tape
            for weight, blob in zip(self.weights(call), call.top, strict=True)
        )

    @staticmethod
    def weights(call):
        """The loss weight of each top."""
        given = list(call.spec.loss_weight)
        if not given and call.layer.is_loss:
            given = [1.0]
        return (given + [0.0] * len(call.top))[: len(call.top)]

    @property
    def outputs(self):
        """The tops that no layer reads."""
        names = {}
        for call in self.tape:
            for name in call.spec.bottom:
                names.pop(name, None)
            names |= dict.fromkeys(call.names)
        return [name for name in names if not name.startswith("(")]

    # -- backward --------------------------------------------------------------

    def backward(self, topdiff=None):
        """Run all layers backward; `topdiff` replaces the loss weights.

        Leaves `diff` by blob name, where there is one, and the gradients in
        `params[layer][i].diff`. A blob that in-place layers changed has the diff of
        its first state.
        """
        for blobs in self.params.values():
            for blob in blobs:
                blob.diff[...] = 0
        self.diff = {}
        needed, grads, topdiff = self._needed(), {}, dict(topdiff or {})
        for call in reversed(self.tape):
            self._take_top_diffs(call, grads, topdiff)
            bottoms, params = needed[call.index]
            if any(bottoms) or any(params):
                self._backward_layer(call, bottoms, params, grads)
        self.diff.update(grads)

    def _needed(self):
        """For each layer: which bottoms and params get a diff (Caffe's Net::Init)."""
        force, blobs, needed = self.message.force_backward, {}, {}
        for call in self.tape:
            spec, layer = call.spec, call.layer
            params = [
                not state and (force or not self._frozen(spec, i))
                for i, state in enumerate(self.states[spec.name])
            ]
            bottoms = [
                layer.keeps_gradient(i)
                and (force or self._asked(spec, i, blobs.get(name, False)))
                for i, name in enumerate(spec.bottom)
            ]
            needed[call.index] = bottoms, params
            blobs |= dict.fromkeys(call.names, any(bottoms) or any(params))
        return needed

    @staticmethod
    def _frozen(spec, index):
        return index < len(spec.param) and spec.param[index].lr_mult == 0

    @staticmethod
    def _asked(spec, index, flows):
        return spec.propagate_down[index] if spec.propagate_down else flows

    def _take_top_diffs(self, call, grads, topdiff):
        for name, blob, weight in zip(
            call.names, call.top, self.weights(call), strict=True
        ):
            diff = grads.pop(name, None)
            if diff is None:
                diff = np.full(blob.shape, weight, self.dtype)
            if name in topdiff:  # for the last state of a blob that changes in place
                diff[...] = np.reshape(topdiff.pop(name), blob.shape)
            blob.diff = self.diff[name] = diff

    def _backward_layer(self, call, needs_bottom, needs_param, grads):
        run, top = call.run, call.top
        params = [
            Blob(p.data, np.full_like(p.data, np.nan) if need else None)
            for p, need in zip(run.params, needs_param, strict=True)
        ]
        inputs = [
            Blob(b.data, np.full_like(b.data, np.nan) if need else None)
            for b, need in zip(call.bottom, needs_bottom, strict=True)
        ]
        if call.in_place and inputs[0].diff is not None:
            inputs[0].diff = top[0].diff
        run = Run(np, params, run.saved, run.random, run.iteration)
        if call.layer.shares == "both":
            inputs[0].diff[...] = top[0].diff.reshape(inputs[0].shape)
        else:
            call.layer.backward(run, top, inputs)
        for owner, mine in zip(self.params[call.spec.name], params, strict=True):
            if mine.diff is not None:
                owner.diff += mine.diff
        for name, blob in zip(call.spec.bottom, inputs, strict=True):
            if blob.diff is not None:
                known = grads.get(name)
                grads[name] = blob.diff if known is None else known + blob.diff
