"""Convolutions as matrix products: windows laid out as columns, some images at a time.

x is (N, B, image ...), y (N, A, out ...), w (A, B / group, kernel ...). The same three
products make the transposed convolution, with image and output in each other's place.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from geeps_caffe.device.array import Array, Shape
from geeps_caffe.device.kernels import Call
from geeps_caffe.engines import operations
from geeps_caffe.engines.cuda.kit import Kit, windows_table
from geeps_caffe.engines.cuda.matrices import Matrix

COLUMN_BYTES = 1 << 26  # of windows that are laid out at a time

Operation = operations.Convolution | operations.Deconvolution


@dataclass(frozen=True)
class Geometry:
    """Sizes of a convolution from image to output."""

    operation: Operation
    images: int
    inputs: int  # channels of the image
    outputs: int
    image: Shape
    out: Shape

    @property
    def pointwise(self) -> bool:
        """Whether the image is its own columns."""
        op = self.operation
        ones = {*op.kernel, *op.stride}
        return ones == {1} and set(op.pad) == {0}

    @property
    def rows(self) -> int:
        """Rows of the columns of one group."""
        return self.inputs // self.operation.group * prod(self.operation.kernel)

    @property
    def each(self) -> int:
        """Elements of the columns of one image."""
        return self.rows * self.operation.group * prod(self.out)

    @property
    def step(self) -> int:
        """Images whose columns are laid out together."""
        return max(1, min(self.images, COLUMN_BYTES // max(1, 4 * self.each)))

    @property
    def scratch(self) -> int:
        """Bytes of columns."""
        return 0 if self.pointwise else 4 * self.step * self.each


def geometry(operation: Operation, x: Shape, y: Shape) -> Geometry:
    """From the shapes of image and output; axes before the channels are images."""
    axes = len(operation.kernel)
    channels = x[-axes - 1], y[-axes - 1]
    return Geometry(operation, prod(x[: -axes - 1]), *channels, x[-axes:], y[-axes:])


@dataclass(frozen=True)
class Columns:
    """The products of one convolution; `columns` is the scratch memory."""

    kit: Kit
    sizes: Geometry
    columns: Array | None

    def correlate(self, x: Array, w: Array, y: Array) -> list[Call]:
        """y = x * w, bias not added."""
        calls: list[Call] = []
        for n, images, results in self._parts(x, y):
            columns = self._lay(n, images, calls)
            pieces = (self._weights(w), self._column(columns), self._result(results))
            calls += self._each(n, *pieces)
        return calls

    def spread(self, y: Array, w: Array, x: Array) -> list[Call]:
        """x: the transpose of `correlate` in x, applied to y."""
        calls: list[Call] = []
        for n, images, results in self._parts(x, y):
            columns = images if self.columns is None else self.columns
            weights = self._weights(w, transposed=True)
            pieces = (weights, self._result(results), self._column(columns))
            calls += self._each(n, *pieces)
            if self.columns is not None:
                args = (columns, images, self._windows())
                size = n * self.sizes.inputs * prod(self.sizes.image)
                calls.append(self.kit.kernels.bind("im2col.cu", "col2im", size, *args))
        return calls

    def weight_gradient(self, x: Array, dy: Array, dw: Array) -> list[Call]:
        """dw: the transpose of `correlate` in w, applied to dy; image by image."""
        calls: list[Call] = []
        total, add = self._weights(dw).matrix, False
        for n, images, results in self._parts(x, dy):
            columns = self._lay(n, images, calls)
            for i in range(n):
                left = self._result(results[i * self._y_each :]).matrix
                right = self._column(columns[i * self.sizes.each :], transposed=True)
                group, bind = self.sizes.operation.group, self.kit.matrices.bind
                calls.append(bind(left, right.matrix, total, group, add=add))
                add = True
        return calls

    # -- pieces ----------------------------------------------------------------

    @property
    def _y_each(self) -> int:
        return self.sizes.outputs * prod(self.sizes.out)

    @property
    def _x_each(self) -> int:
        return self.sizes.inputs * prod(self.sizes.image)

    def _parts(self, x: Array, y: Array) -> Iterator[tuple[int, Array, Array]]:
        """Runs of images: how many, and where x and y of the first begin."""
        x, y = x.reshape(-1), y.reshape(-1)
        step = self.sizes.images if self.columns is None else self.sizes.step
        for begin in range(0, self.sizes.images, step):
            n = min(step, self.sizes.images - begin)
            yield n, x[begin * self._x_each :], y[begin * self._y_each :]

    def _lay(self, n: int, images: Array, calls: list[Call]) -> Array:
        """The columns of n images; a call that lays them out is appended."""
        if self.columns is None:
            return images
        size = n * self.sizes.inputs * prod(self.sizes.out)
        args = (images, self.columns, self._windows())
        calls.append(self.kit.kernels.bind("im2col.cu", "im2col", size, *args))
        return self.columns

    def _windows(self) -> Array:
        op, sizes = self.sizes.operation, self.sizes
        parts = (op.kernel, op.stride, op.pad, op.dilation, sizes.image, sizes.out)
        return self.kit.constant(windows_table(list(zip(*parts, strict=True))))

    def _weights(self, w: Array, *, transposed: bool = False) -> "Grouped":
        rows, columns = (
            self.sizes.outputs // self.sizes.operation.group,
            self.sizes.rows,
        )
        return Grouped(w.reshape(-1), rows, columns, 0, transposed)

    def _column(self, columns: Array, *, transposed: bool = False) -> "Grouped":
        out = prod(self.sizes.out)
        return Grouped(columns, self.sizes.rows, out, self.sizes.each, transposed)

    def _result(self, y: Array) -> "Grouped":
        rows = self.sizes.outputs // self.sizes.operation.group
        return Grouped(y, rows, prod(self.sizes.out), self._y_each)

    def _each(self, n: int, a: "Grouped", b: "Grouped", c: "Grouped") -> list[Call]:
        """c = a b for n images and all groups; the longer of the two is the batch."""
        groups, bind = self.sizes.operation.group, self.kit.matrices.bind
        if groups > n:
            sets = [[g.at_image(i).matrix for g in (a, b, c)] for i in range(n)]
            return [bind(x, y, z, groups) for x, y, z in sets]
        sets = [[g.of_group(k) for g in (a, b, c)] for k in range(groups)]
        return [bind(x, y, z, n) for x, y, z in sets]


@dataclass(frozen=True)
class Grouped:
    """A matrix for each image, `image_step` elements apart, and each group in it."""

    array: Array
    rows: int
    columns: int
    image_step: int
    transposed: bool = False

    @property
    def matrix(self) -> Matrix:
        """All groups of the first image, as a batch."""
        each = self.rows * self.columns
        return Matrix(self.array, self.rows, self.columns, self.transposed, each)

    def of_group(self, group: int) -> Matrix:
        """One group of all images, as a batch."""
        start = self.array[group * self.rows * self.columns :]
        shape = (self.rows, self.columns)
        return Matrix(start, *shape, self.transposed, self.image_step)

    def at_image(self, image: int) -> "Grouped":
        """The same from a later image on."""
        start = self.array[image * self.image_step :]
        shape = (self.rows, self.columns)
        return Grouped(start, *shape, self.image_step, self.transposed)
