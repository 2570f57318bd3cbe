"""Tokens to a message, with every fault found on the way.

Unknown fields and values that do not fit are noted and passed over, so one run finds
them all. A fault of grammar (a brace missing, a string not closed) ends the reading,
since what follows it cannot be trusted.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from prototxt import values
from prototxt.cursor import CLOSING, Cursor, in_layer
from prototxt.errors import PrototxtError
from prototxt.origins import explain_unknown
from prototxt.schema import (
    Message,
    MessageClass,
    repeated_fields,
    required_fields,
)
from prototxt.source import Source
from prototxt.tokens import BROKEN, END, NUMBER, STRING, WORD, Token

_KINDS = {
    FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_ENUM: "enum",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_MESSAGE: "message",
}
# Fields whose entries are layers, in the current and in the old format.
_LAYERS = {"caffe.NetParameter.layer", "caffe.NetParameter.layers"}


@dataclass(frozen=True)
class _Field:
    """What the parser needs to know of a field."""

    name: str
    kind: str
    repeated: bool
    type: Any  # the descriptor of a message or enum, else None
    is_layer: bool


@cache
def _fields(descriptor: Descriptor) -> dict[str, _Field]:
    repeated = repeated_fields(descriptor)
    return {
        f.name: _Field(
            f.name,
            _KINDS[f.type],
            f.name in repeated,
            f.message_type or f.enum_type,
            f.full_name in _LAYERS,
        )
        for f in descriptor.fields
    }


@dataclass(frozen=True)
class Parsed:
    """What a text says.

    Attributes:
        message: the filled message.
        places: offsets of all fields, by (index of the layer entry or -1, dotted
            path). Layer entries of both formats are counted in the order of the text
            and are themselves under (-1, "layer") and (-1, "layers").
        warnings: what was accepted and may still be a slip.
    """

    message: Message
    places: dict[tuple[int, str], list[int]]
    warnings: tuple[str, ...]


def parse(source: Source, cls: MessageClass) -> Parsed:
    """Read a text as a message of the given class.

    Raises:
        PrototxtError: with all unknown fields and bad values, each with its place and
            the layer it is in.
    """
    return _Parser(source, cls).run()


class _Parser(Cursor):
    """One pass over the tokens of one text."""

    def __init__(self, source: Source, cls: MessageClass) -> None:
        super().__init__(source)
        self.root = cls()
        self.entry = -1  # index of the layer entry being read
        self.entries = 0
        self.places: dict[tuple[int, str], list[int]] = {}
        self.warnings: list[str] = []

    def run(self) -> Parsed:
        """Read to the end."""
        self._block(self.root, "", Token(END, "", 0))
        if self.faults:
            raise PrototxtError(self.collect(), self.source.name)
        return Parsed(self.root, self.places, tuple(self.warnings))

    def _block(self, message: Message, path: str, opening: Token) -> None:
        """Read fields up to the mark that closes the block."""
        closing = CLOSING.get(opening.kind, END)
        fields = _fields(message.DESCRIPTOR)
        while True:
            token = self.next
            if token.kind == closing:
                self.at += 1
                break
            if token.kind != WORD:
                self.stop_at_field(token, opening)
            self.at += 1
            known = fields.get(token.text)
            if known is None:
                self._unknown(token, message)
            else:
                self._field(message, known, path, token)
            if self.next.kind in (",", ";"):
                self.at += 1
        for name in required_fields(message.DESCRIPTOR):
            if not message.HasField(name):
                self.note(opening.offset, f"the field '{name}' is missing here")

    def _unknown(self, name: Token, message: Message) -> None:
        top = message is self.root
        self.note(name.offset, explain_unknown(name.text, message.DESCRIPTOR, top))
        self.skip_value(name)

    def _field(self, message: Message, field: _Field, path: str, name: Token) -> None:
        full = f"{path}.{field.name}" if path else field.name
        places = self.places.setdefault((self.entry, full), [])
        places.append(name.offset)
        if not field.repeated and message.HasField(field.name):
            self._warn_twice(full, name)
        colon = self.take(":")
        if field.repeated and self.next.kind == "[":
            places.pop()
            self._list(message, field, full, places)
        elif field.kind == "message":
            self._submessage(message, field, full)
        else:
            if not colon:
                self._no_colon(field, name)
            self._set(message, field)

    def _no_colon(self, field: _Field, name: Token) -> None:
        token = self.next
        if token.kind == BROKEN:
            self.stop(token.offset, "string not closed")
        if token.kind not in CLOSING:
            self.stop(name.offset, f"expected ':' after '{field.name}'")

    def _warn_twice(self, full: str, name: Token) -> None:
        lines = [self.source.line(p) for p in self.places[(self.entry, full)]]
        text = f"'{full}' is given twice (lines {lines[-2]} and {lines[-1]}); "
        text += "the last one counts"
        line = self.source.line(name.offset)
        self.warnings.append(f"{self.source.name}:{line}: {in_layer(text, self.layer)}")

    def _list(
        self, message: Message, field: _Field, full: str, places: list[int]
    ) -> None:
        """Read `[value, value]`; each value has a place of its own."""
        self.at += 1
        if self.take("]"):
            return
        while True:
            places.append(self.next.offset)
            if field.kind == "message":
                self._submessage(message, field, full)
            else:
                self._set(message, field)
            if self.take("]"):
                return
            if not self.take(","):
                token = self.next
                text = f"expected ',' or ']' in the list '{field.name}', "
                self.stop(token.offset, text + f"not {values.show(token)}")

    def _submessage(self, message: Message, field: _Field, full: str) -> None:
        opening = self.next
        if opening.kind == BROKEN:
            self.stop(opening.offset, "string not closed")
        if opening.kind not in CLOSING:
            text = f"expected '{{' after '{field.name}', not {values.show(opening)}"
            self.stop(opening.offset, text)
        self.at += 1
        inner = getattr(message, field.name)
        if field.repeated:
            inner = inner.add()
        else:
            inner.SetInParent()
        if field.is_layer:
            self._layer(inner, opening)
        else:
            self._block(inner, full, opening)

    def _layer(self, layer: Message, opening: Token) -> None:
        outside = self.layer, self.entry
        self.layer, self.entry = layer, self.entries
        self.entries += 1
        self._block(layer, "", opening)
        self.layer, self.entry = outside

    def _set(self, message: Message, field: _Field) -> None:
        """Read one value and put it into the message."""
        token = self.next
        if token.kind == BROKEN:
            self.stop(token.offset, "string not closed")
        if token.kind in CLOSING:
            self.note(token.offset, f"'{field.name}' takes a value, not a block")
            self.skip_block()
            return
        try:
            value = self._value(field)
        except ValueError as error:
            self.note(token.offset, f"'{field.name}': {error}")
            return
        if field.repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)

    def _value(self, field: _Field) -> Any:
        if field.kind in ("string", "bytes"):
            strings = self.strings(field.name)
            if field.kind == "bytes":
                return values.byte_string(strings)
            return values.text_string(strings)
        negative = self.take("-")
        token = self.next
        if token.kind not in (WORD, NUMBER, STRING):
            text = f"expected a value for '{field.name}', not {values.show(token)}"
            self.stop(token.offset, text)
        self.at += 1
        return values.scalar(field.kind, token, negative, field.type)
