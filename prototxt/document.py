"""A file that has been read: its message, and where in the file things are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from prototxt.schema import Message
from prototxt.upgrade.notes import Note


@dataclass(frozen=True)
class Document:
    """A message, the file it came from, and the lines of its parts.

    Attributes:
        message: the NetParameter or SolverParameter.
        path: the file's name as the user wrote it.
        layer_lines: for a net, the line of each entry of `message.layer`, from 1; an
            Input layer made of old `input` fields has the line of the first of them.
        warnings: what the user should know and may ignore; each says where.
        notes: what Caffe logs about the upgrade of an old format.
        lines: lines of the fields as they stand in the file, before upgrades: keys
            are the index of the layer entry in the file (-1 outside layers) and the
            dotted path of the field in it.
        entries: for each entry of `message.layer`, the index of the layer entry in
            the file that it was made from, -1 if none.
    """

    message: Message
    path: str
    layer_lines: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    lines: Mapping[tuple[int, str], Sequence[int]] = field(
        default_factory=dict, repr=False
    )
    entries: tuple[int, ...] = field(default=(), repr=False)

    def line_of(self, path: str, layer: int | None = None, index: int = 0) -> int:
        """The line of a field, or of the nearest thing around it that has a line.

        Args:
            path: names with dots, such as "base_lr" or "convolution_param.pad".
            layer: index of the layer in `message.layer`, None outside layers.
            index: which entry, of a repeated field.

        Returns:
            The line from 1; 0 if not even a layer around the field is in the file.
        """
        entry = -1 if layer is None else self.entries[layer]
        if layer is not None and entry == -1:
            return self.layer_lines[layer]  # made of `input` fields
        while path:
            found = self.lines.get((entry, path))
            if found:
                return found[min(index, len(found) - 1)]
            path, index = path.rpartition(".")[0], 0
        return 0 if layer is None else self.layer_lines[layer]

    def where(self, path: str, layer: int | None = None, index: int = 0) -> str:
        """The place of a field as `file:line`."""
        line = self.line_of(path, layer, index)
        return f"{self.path}:{line}" if line else self.path

    def with_warnings(self, *texts: str) -> "Document":
        """The same document with more warnings."""
        return replace(self, warnings=self.warnings + texts)
