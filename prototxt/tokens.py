"""Text to tokens, in protobuf's text format.

A token is a tuple of its kind, its text and its offset. Kinds are WORD, NUMBER,
STRING, END (the text is used up), BROKEN (a string that is not closed), or the
punctuation mark itself.
"""

import re
from typing import NamedTuple

WORD, NUMBER, STRING, BROKEN, END = "word", "number", "string", "broken", "end"


class Token(NamedTuple):
    """A piece of text with a meaning."""

    kind: str
    text: str
    offset: int


# A number takes in all that stands directly after it, so `3x` is one bad number
# and not a number and a word.
_TOKEN = re.compile(
    r"""(?:\s++|\#[^\n\r]*+)*+
    (?:
      (?P<word>[A-Za-z_]\w*)
    | (?P<number>(?:\d|\.\d)(?:(?<=[eE])[+-]\d|[\w.])*)
    | (?P<string>"(?:[^"\\\n\r]|\\[^\n\r])*"|'(?:[^'\\\n\r]|\\[^\n\r])*')
    | (?P<broken>["'][^\n\r]*)
    | (?P<mark>.)
    | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)


def tokenize(text: str) -> list[Token]:
    """All tokens of `text`, the last of them an END."""
    tokens = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        assert kind is not None
        start = match.start(kind)
        piece = match[kind]
        tokens.append(Token(piece if kind == "mark" else kind, piece, start))
        if kind == END:
            break
    return tokens
