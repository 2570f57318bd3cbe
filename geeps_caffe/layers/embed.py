"""The Embed layer."""

from geeps_caffe.device.array import Array, ArrayModule, Shapes
from geeps_caffe.layers.base import Blobs, Layer, ParamSpec, Run
from geeps_caffe.layers.fillers import learnable


class Embed(Layer):
    """For each whole number of the bottom a row of the weights, plus the bias.

    The bottom is of any shape; the top has one more axis, of num_output.
    """

    type_name = "Embed"
    no_gradient = frozenset({0})

    def setup(self, bottom: Shapes) -> None:
        """Check the numbers of rows and columns."""
        del bottom
        self.param = self.spec.embed_param
        for name in ("num_output", "input_dim"):
            if getattr(self.param, name) < 1:
                self.fail(f"{name} is 0 or missing; it must be at least 1")

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """One more axis."""
        return [(*bottom[0], self.param.num_output)]

    def param_specs(self, bottom: Shapes) -> list[ParamSpec]:
        """Rows (input_dim, num_output), and the bias."""
        del bottom
        outputs = self.param.num_output
        shape = (self.param.input_dim, outputs)
        rows = learnable(self, "weight_filler", shape, self.param.weight_filler)
        if not self.param.bias_term:
            return [rows]
        return [
            rows,
            learnable(self, "bias_filler", (outputs,), self.param.bias_filler),
        ]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Look the rows up."""
        index = self._index(run.xp, bottom[0].data)
        y = top[0].data.reshape(-1, self.param.num_output)
        run.functions.gather_rows(run.params[0].data, index, y)
        if self.param.bias_term:
            y += run.params[1].data.reshape(-1)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Each row's gradient is the sum over the places that asked for it."""
        assert top[0].diff is not None
        dy = top[0].diff.reshape(-1, self.param.num_output)
        rows = run.params[0].diff
        if rows is not None:
            index = bottom[0].data.reshape(-1).astype(run.xp.int64)
            run.functions.scatter_add_rows(dy, index, rows)
        if self.param.bias_term and run.params[1].diff is not None:
            run.params[1].diff.reshape(-1)[...] = dy.sum(axis=0)

    def _index(self, xp: ArrayModule, values: Array) -> Array:
        """The bottom as row numbers; the layer's error where one has no row."""
        flat = values.reshape(-1)
        index: Array = flat.astype(xp.int64)
        wrong = (index != flat) | (index < 0) | (index >= self.param.input_dim)
        if wrong.any():
            place = int(xp.flatnonzero(wrong)[0])
            self.fail(
                f"bottom {self.spec.bottom[0]!r} has {float(flat[place]):g} at place "
                f"{place}; expected a whole number from 0 to input_dim - 1, "
                f"{self.param.input_dim - 1}"
            )
        return index
