"""Where the gradients that a backward pass writes go, and what it reads."""

from dataclasses import dataclass

from geeps_caffe.engines.engine import Layout
from geeps_caffe.graph.graph import Node
from geeps_caffe.schedule.forward import Forward
from geeps_caffe.schedule.instructions import Accumulate, Reorder
from geeps_caffe.schedule.learned import Learned


@dataclass(frozen=True)
class Collected:
    """A gradient that was computed beside the array it belongs to."""

    source: str
    target: str
    adds: bool  # to what the target holds


@dataclass
class Gradients:
    """The arrays behind the ports of backward passes."""

    forward: Forward
    learned: Learned

    def existing(self, node: Node, port: str, diffs: list[str]) -> str | None:
        """The array behind a port that backward reads; `diffs` are the tops'."""
        program = self.forward.program
        kind, index = split_port(port)
        if kind == "bottom":
            return program.data[node.bottoms[index]]
        if kind == "top":
            return program.data[node.tops[index]]
        if kind == "param":
            return self.forward.param_as(node, index)
        if kind == "top.diff":
            return diffs[index]
        return None

    def written(
        self,
        node: Node,
        port: str,
        layout: Layout,
        after: list[Collected],
        *,
        whole: bool = False,
    ) -> str:
        """The array that backward writes at `port`; sums follow in `after`.

        What is `whole` has the gradients of earlier batches in it already.
        """
        program = self.forward.program
        kind, index = split_port(port)
        if kind == "bottom.diff":
            value = node.bottoms[index]
            shape = self.forward.shape(value)
            program.diff[value] = program.add(f"{value}.diff", shape, layout)
            return program.diff[value]
        key = node.params[index]
        target = self.learned.gradient_of(key)
        shape = node.param_shapes[index]
        same = program.arrays[target].layout.name == layout.name
        same = same and program.arrays[target].shape == shape
        adds = program.options.accumulate or key in self.learned.written
        adds = adds and not whole
        self.learned.written.add(key)
        if same and not adds:
            return target
        temporary = program.add(f"{node.name}.{port}", shape, layout)
        after.append(Collected(temporary, target, adds))
        return temporary

    def collect(self, after: list[Collected]) -> None:
        """Bring gradients to where they belong, once they are computed."""
        program = self.forward.program
        for entry in after:
            source, target = entry.source, program.arrays[entry.target]
            if program.arrays[source].shape != target.shape:
                source = program.reshaped(program.plain(source), target.shape)
            if entry.adds:
                source = program.in_layout(source, target.layout)
                program.emit(Accumulate(source, entry.target))
            else:
                program.emit(Reorder(source, entry.target))


def split_port(port: str) -> tuple[str, int]:
    """("bottom.diff", 0) for "bottom0.diff"."""
    name, dot, diff = port.partition(".")
    digits = name.lstrip("abcdefghijklmnopqrstuvwxyz")
    return name[: len(name) - len(digits)] + dot + diff, int(digits)
