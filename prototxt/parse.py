"""Tokens to a message, with every fault found on the way.

Unknown fields and values that do not fit are noted and passed over, so one run finds
them all. A fault of grammar (a brace missing, a string not closed) ends the reading,
since what follows it cannot be trusted.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from prototxt import values
from prototxt.errors import Fault, PrototxtError
from prototxt.origins import explain_unknown
from prototxt.schema import (
    Message,
    MessageClass,
    repeated_fields,
    required_fields,
)
from prototxt.source import Source
from prototxt.tokens import BROKEN, END, NUMBER, STRING, WORD, Token, tokenize

_CLOSING = {"{": "}", "<": ">"}
_KINDS = {
    FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_DOUBLE: "float",
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


class _Parser:
    """One pass over the tokens of one text."""

    def __init__(self, source: Source, cls: MessageClass) -> None:
        self.source = source
        self.tokens = tokenize(source.text)
        self.at = 0
        self.root = cls()
        self.layer: Message | None = None  # the layer entry being read
        self.entry = -1  # its index
        self.entries = 0
        self.places: dict[tuple[int, str], list[int]] = {}
        self.faults: list[tuple[int, str, Message | None]] = []
        self.warnings: list[str] = []

    def run(self) -> Parsed:
        """Read to the end."""
        self._block(self.root, "", Token(END, "", 0))
        if self.faults:
            raise PrototxtError(self._collect(), self.source.name)
        return Parsed(self.root, self.places, tuple(self.warnings))

    def _collect(self) -> list[Fault]:
        return [
            self.source.fault(offset, _in_layer(text, layer))
            for offset, text, layer in self.faults
        ]

    def _note(self, offset: int, text: str) -> None:
        self.faults.append((offset, text, self.layer))

    def _stop(self, offset: int, text: str) -> NoReturn:
        if self.source.text[offset : offset + 1] in ("$", "%", "@"):
            text += "; is this a template whose variables are not filled in?"
        elif offset == self.tokens[0].offset:
            text += "; is this a prototxt?"
        self._note(offset, text)
        raise PrototxtError(self._collect(), self.source.name)

    def _block(self, message: Message, path: str, opening: Token) -> None:
        """Read fields up to the mark that closes the block."""
        closing = _CLOSING.get(opening.kind, END)
        fields = _fields(message.DESCRIPTOR)
        while True:
            token = self.tokens[self.at]
            if token.kind == closing:
                self.at += 1
                break
            if token.kind != WORD:
                self._stop_at_field(token, opening)
            self.at += 1
            known = fields.get(token.text)
            if known is None:
                self._unknown(token, message)
            else:
                self._field(message, known, path, token)
            if self.tokens[self.at].kind in (",", ";"):
                self.at += 1
        for name in required_fields(message.DESCRIPTOR):
            if not message.HasField(name):
                self._note(opening.offset, f"the field '{name}' is missing here")

    def _stop_at_field(self, token: Token, opening: Token) -> NoReturn:
        if token.kind == BROKEN:
            self._stop(token.offset, "string not closed")
        if token.kind == END:
            line = self.source.line(opening.offset)
            text = f"the '{opening.kind}' of line {line} is not closed"
            self._stop(opening.offset, text)
        if token.kind in ("}", ">"):
            self._stop(token.offset, f"'{token.kind}' closes nothing")
        if token.kind == "[":
            self._stop(token.offset, "extensions in brackets are no part of Caffe")
        self._stop(token.offset, f"expected the name of a field, not {_show(token)}")

    def _unknown(self, name: Token, message: Message) -> None:
        top = message is self.root
        self._note(name.offset, explain_unknown(name.text, message.DESCRIPTOR, top))
        self._skip_value(name)

    def _field(self, message: Message, field: _Field, path: str, name: Token) -> None:
        full = f"{path}.{field.name}" if path else field.name
        places = self.places.setdefault((self.entry, full), [])
        places.append(name.offset)
        if not field.repeated and message.HasField(field.name):
            self._warn_twice(full, name)
        colon = self._take(":")
        if field.repeated and self.tokens[self.at].kind == "[":
            places.pop()
            self._list(message, field, full, places)
        elif field.kind == "message":
            self._submessage(message, field, full)
        else:
            if not colon:
                self._no_colon(field, name)
            self._set(message, field)

    def _no_colon(self, field: _Field, name: Token) -> None:
        token = self.tokens[self.at]
        if token.kind == BROKEN:
            self._stop(token.offset, "string not closed")
        if token.kind not in _CLOSING:
            self._stop(name.offset, f"expected ':' after '{field.name}'")

    def _warn_twice(self, full: str, name: Token) -> None:
        lines = [self.source.line(p) for p in self.places[(self.entry, full)]]
        text = f"'{full}' is given twice (lines {lines[-2]} and {lines[-1]}); "
        text += "the last one counts"
        line = self.source.line(name.offset)
        self.warnings.append(
            f"{self.source.name}:{line}: {_in_layer(text, self.layer)}"
        )

    def _take(self, kind: str) -> bool:
        if self.tokens[self.at].kind == kind:
            self.at += 1
            return True
        return False

    def _list(
        self, message: Message, field: _Field, full: str, places: list[int]
    ) -> None:
        """Read `[value, value]`; each value has a place of its own."""
        self.at += 1
        if self._take("]"):
            return
        while True:
            places.append(self.tokens[self.at].offset)
            if field.kind == "message":
                self._submessage(message, field, full)
            else:
                self._set(message, field)
            if self._take("]"):
                return
            if not self._take(","):
                token = self.tokens[self.at]
                text = f"expected ',' or ']' in the list '{field.name}', "
                self._stop(token.offset, text + f"not {_show(token)}")

    def _submessage(self, message: Message, field: _Field, full: str) -> None:
        opening = self.tokens[self.at]
        if opening.kind == BROKEN:
            self._stop(opening.offset, "string not closed")
        if opening.kind not in _CLOSING:
            text = f"expected '{{' after '{field.name}', not {_show(opening)}"
            self._stop(opening.offset, text)
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
        token = self.tokens[self.at]
        if token.kind == BROKEN:
            self._stop(token.offset, "string not closed")
        if token.kind in _CLOSING:
            self._note(token.offset, f"'{field.name}' takes a value, not a block")
            self._skip_block()
            return
        try:
            value = self._value(field)
        except ValueError as error:
            self._note(token.offset, f"'{field.name}': {error}")
            return
        if field.repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)

    def _value(self, field: _Field) -> Any:
        if field.kind in ("string", "bytes"):
            strings = self._strings(field)
            if field.kind == "bytes":
                return values.byte_string(strings)
            return values.text_string(strings)
        negative = self._take("-")
        token = self.tokens[self.at]
        if token.kind not in (WORD, NUMBER, STRING):
            text = f"expected a value for '{field.name}', not {_show(token)}"
            self._stop(token.offset, text)
        self.at += 1
        return values.scalar(field.kind, token, negative, field.type)

    def _strings(self, field: _Field) -> list[Token]:
        first = self.at
        while self.tokens[self.at].kind == STRING:
            self.at += 1
        token = self.tokens[self.at]
        if token.kind == BROKEN:
            self._stop(token.offset, "string not closed")
        if self.at == first:
            if token.kind not in (WORD, NUMBER):
                text = f"expected a string for '{field.name}', not {_show(token)}"
                self._stop(token.offset, text)
            self.at += 1
            raise ValueError(f'expected a string in quotes, "{token.text}"')
        return self.tokens[first : self.at]

    def _skip_value(self, name: Token) -> None:
        """Pass over the value of a field that is not known."""
        colon = self._take(":")
        token = self.tokens[self.at]
        if token.kind in ("{", "<", "["):
            self._skip_block()
        elif not colon:
            self._stop(token.offset, f"expected ':' or '{{' after '{name.text}'")
        elif token.kind == STRING:
            while self.tokens[self.at].kind == STRING:
                self.at += 1
        else:
            self._take("-")
            token = self.tokens[self.at]
            if token.kind not in (WORD, NUMBER):
                self._stop_at_value(name, token)
            self.at += 1

    def _stop_at_value(self, name: Token, token: Token) -> NoReturn:
        if token.kind == BROKEN:
            self._stop(token.offset, "string not closed")
        text = f"expected a value for '{name.text}', not {_show(token)}"
        self._stop(token.offset, text)

    def _skip_block(self) -> None:
        """Pass over a block or list, to the mark that closes it."""
        pairs = {"{": "}", "<": ">", "[": "]"}
        open_marks = [self.tokens[self.at]]
        self.at += 1
        while open_marks:
            token = self.tokens[self.at]
            if token.kind in pairs:
                open_marks.append(token)
            elif token.kind == pairs[open_marks[-1].kind]:
                open_marks.pop()
            elif token.kind in (END, BROKEN, "}", ">", "]"):
                self._stop_at_field(token, open_marks[-1])
            self.at += 1


def _show(token: Token) -> str:
    return values.show(token)


def _in_layer(text: str, layer: Message | None) -> str:
    """Say which layer a fault is in; a V0 layer has its name one level deeper."""
    if layer is None:
        return text
    name = layer.name
    if not name and layer.DESCRIPTOR.name == "V1LayerParameter":
        name = layer.layer.name
    return f"layer '{name}': {text}" if name else f"layer without a name: {text}"
