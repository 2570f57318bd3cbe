"""A place in the tokens of a text, and the faults found up to it."""

import re
from typing import NoReturn

from prototxt import values
from prototxt.errors import Fault, PrototxtError
from prototxt.schema import Message
from prototxt.source import Source
from prototxt.tokens import BROKEN, END, NUMBER, STRING, WORD, Token, tokenize

CLOSING = {"{": "}", "<": ">"}


class Cursor:
    """Steps through tokens; passes over what is not known; says what is wrong.

    Attributes:
        source: the text.
        tokens: its tokens.
        at: index of the next token.
        layer: the layer entry that is being read, for the faults in it.
        faults: offset, text and layer of each fault that does not end the reading.
    """

    def __init__(self, source: Source) -> None:
        """Stand before the first token."""
        self.source = source
        self.tokens = tokenize(source.text)
        self.at = 0
        self.layer: Message | None = None
        self.faults: list[tuple[int, str, Message | None]] = []

    @property
    def next(self) -> Token:
        """The token that comes next."""
        return self.tokens[self.at]

    def collect(self) -> list[Fault]:
        """All faults with their places."""
        return [
            self.source.fault(offset, in_layer(text, layer))
            for offset, text, layer in self.faults
        ]

    def note(self, offset: int, text: str) -> None:
        """Remember a fault and go on."""
        self.faults.append((offset, text, self.layer))

    def stop(self, offset: int, text: str) -> NoReturn:
        """End the reading with this fault and those before."""
        if self.source.text[offset : offset + 1] in ("$", "%", "@"):
            text += "; is this a template whose variables are not filled in?"
        elif self.source.text[offset : offset + 2] in ("//", "/*"):
            text += "; comments begin with #"
        elif offset == self.tokens[0].offset:
            text += "; is this a prototxt?"
        self.note(offset, text)
        raise PrototxtError(self.collect(), self.source.name)

    def take(self, kind: str) -> bool:
        """Step over the next token if it is of this kind."""
        if self.next.kind == kind:
            self.at += 1
            return True
        return False

    def stop_at_field(self, token: Token, opening: Token) -> NoReturn:
        """End the reading at what is no name of a field and does not close a block."""
        if token.kind == BROKEN:
            self.stop(token.offset, "string not closed")
        if token.kind == END:
            line = self.source.line(opening.offset)
            text = f"the '{opening.kind}' of line {line} is not closed"
            self.stop(opening.offset, text)
        if token.kind in ("}", ">"):
            self.stop(token.offset, f"'{token.kind}' closes nothing")
        if token.kind == "[":
            self.stop(token.offset, "extensions in brackets are no part of Caffe")
        text = f"expected the name of a field, not {values.show(token)}"
        whole = re.search(r"(-?\d+),\Z", self.source.text[: token.offset])
        if token.kind == NUMBER and whole:
            text += f"; a fraction stands after a point: {whole[1]}.{token.text}"
        self.stop(token.offset, text)

    def strings(self, field: str) -> list[Token]:
        """The strings that come next; several mean one.

        Raises:
            ValueError: there is a word or number, which lacks its quotes.
        """
        first = self.at
        while self.next.kind == STRING:
            self.at += 1
        token = self.next
        if token.kind == BROKEN:
            self.stop(token.offset, "string not closed")
        if self.at == first:
            if token.kind not in (WORD, NUMBER):
                text = f"expected a string for '{field}', not {values.show(token)}"
                self.stop(token.offset, text)
            self.at += 1
            raise ValueError(f'expected a string in quotes, "{token.text}"')
        return self.tokens[first : self.at]

    def skip_value(self, name: Token) -> None:
        """Pass over the value of a field that is not known."""
        colon = self.take(":")
        token = self.next
        if token.kind in ("{", "<", "["):
            self.skip_block()
        elif not colon:
            self.stop(token.offset, f"expected ':' or '{{' after '{name.text}'")
        elif token.kind == STRING:
            while self.next.kind == STRING:
                self.at += 1
        else:
            self.take("-")
            token = self.next
            if token.kind not in (WORD, NUMBER):
                self.stop_at_value(name, token)
            self.at += 1

    def stop_at_value(self, name: Token, token: Token) -> NoReturn:
        """End the reading at what is no value."""
        if token.kind == BROKEN:
            self.stop(token.offset, "string not closed")
        text = f"expected a value for '{name.text}', not {values.show(token)}"
        self.stop(token.offset, text)

    def skip_block(self) -> None:
        """Pass over a block or list, to the mark that closes it."""
        pairs = {"{": "}", "<": ">", "[": "]"}
        open_marks = [self.next]
        self.at += 1
        while open_marks:
            token = self.next
            if token.kind in pairs:
                open_marks.append(token)
            elif token.kind == pairs[open_marks[-1].kind]:
                open_marks.pop()
            elif token.kind in (END, BROKEN, "}", ">", "]"):
                self.stop_at_field(token, open_marks[-1])
            self.at += 1


def in_layer(text: str, layer: Message | None) -> str:
    """Say which layer a fault is in; a V0 layer has its name one level deeper."""
    if layer is None:
        return text
    name = layer.name
    if not name and layer.DESCRIPTOR.name == "V1LayerParameter":
        name = layer.layer.name
    return f"layer '{name}': {text}" if name else f"layer without a name: {text}"
