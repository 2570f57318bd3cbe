"""The Filter layer."""

from typing import Any

from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.layers.base import Blobs, Layer, Run, SavedSpec, Setting
from geeps_caffe.layers.top_diff import top_diff


class Filter(Layer):
    """Keeps the items (axis 0) whose selector is not 0.

    The last bottom is the selector, (N,) or (N, 1, ...); the others have N items each
    and a top. How many items a top has is known only at run time, at most N.
    """

    type_name = "Filter"
    bottoms = (2, None)
    tops = (1, None)
    dynamic = True
    backward_reads = frozenset()

    def __init__(self, spec: Any, setting: Setting | None = None) -> None:
        super().__init__(spec, setting)
        self.selector = len(spec.bottom) - 1

    def keeps_gradient(self, index: int) -> bool:
        """All but the selector."""
        return index != self.selector

    def setup(self, bottom: Shapes) -> None:
        """Check counts, and the selector's shape."""
        if len(self.spec.top) != self.selector:
            self.fail(
                f"{len(self.spec.top)} tops for {self.selector} bottoms besides the "
                "selector; it needs one for each"
            )
        shape = bottom[self.selector]
        if any(extent != 1 for extent in shape[1:]):
            self.fail(
                f"the selector, bottom[{self.selector}], has shape {shape}; expected "
                "(N,) or extents of 1 after the first"
            )

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The bottoms' shapes, which hold all that can be selected."""
        shape = bottom[self.selector]
        for i, other in enumerate(bottom[: self.selector]):
            if other[:1] != shape[:1]:
                self.fail(
                    f"bottom[{i}] has shape {other}, the selector {shape}; their first "
                    "extents must agree"
                )
        return bottom[: self.selector]

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """Which items were kept."""
        return [SavedSpec(bottom[self.selector][:1], "bool")]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Copy the selected items."""
        kept: Array = run.saved[0]
        kept[...] = bottom[self.selector].data.reshape(-1) != 0
        selected = int(kept.sum())
        for source, target in zip(bottom, top, strict=False):
            target.resize((selected, *source.shape[1:]))
            target.data[...] = source.data[kept]

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Diffs go back to where the items came from; the others get 0."""
        kept: Array = run.saved[0]
        for source, target in zip(bottom, top, strict=False):
            if source.diff is not None:
                source.diff[...] = 0
                source.diff[kept] = top_diff(run.xp, target)[: int(kept.sum())]
