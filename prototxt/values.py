"""Tokens to values: numbers, truth values, enum names and strings.

The rules are those of protobuf's own parser, so that a file is accepted here if Caffe
accepts it. A value that does not fit raises ValueError, whose text says what was
expected.
"""

import re
import sys
from typing import Any

from google.protobuf.descriptor import EnumDescriptor

from prototxt.errors import nearest
from prototxt.tokens import NUMBER, STRING, WORD, Token

_INTEGER = re.compile(r"0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*", re.ASCII)
_DECIMAL = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?", re.ASCII)
#: The largest number that becomes a finite one of a kind, and how it is told.
_LARGEST = {
    "float": (3.4028235677973362e38, "3.4e38"),
    "double": (sys.float_info.max, "1.8e308"),
}
_WORDS = {"inf": float("inf"), "infinity": float("inf"), "nan": float("nan")}
_TRUE, _FALSE = {"true", "True", "t"}, {"false", "False", "f"}

_FEW = 12  # enum values that a message lists in any case

RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}


def integer(token: Token, negative: bool, kind: str) -> int:
    """A whole number: decimal, octal (0...) or hexadecimal (0x...)."""
    if token.kind != NUMBER or not _INTEGER.fullmatch(token.text):
        raise ValueError(f"expected a whole number, not {show(token)}")
    text = token.text
    octal = text[0] == "0" and text[1:2] not in ("", "x", "X")
    value = int(text, 8 if octal else 0)
    value = -value if negative else value
    low, high = RANGES[kind]
    if not low <= value <= high:
        raise ValueError(f"{value} does not fit {kind} ({low} to {high})")
    return value


def real(token: Token, negative: bool, kind: str) -> float:
    """A number with or without fraction, exponent and the suffix f; inf; nan."""
    if token.kind == NUMBER and _DECIMAL.fullmatch(token.text):
        if re.fullmatch(r"0\d+", token.text):
            raise ValueError(f"expected a decimal number, not the octal {token.text}")
        value = float(token.text.rstrip("fF"))
        largest, text = _LARGEST[kind]
        if value > largest:
            raise ValueError(f"{token.text} is too large for a {kind} (at most {text})")
    elif token.kind == WORD and token.text.lower() in _WORDS:
        value = _WORDS[token.text.lower()]
    else:
        raise ValueError(f"expected a number, not {show(token)}")
    return -value if negative else value


def boolean(token: Token) -> bool:
    """A truth value: true, false, t, f, 1 or 0."""
    if token.text in _TRUE or (token.kind == NUMBER and token.text == "1"):
        return True
    if token.text in _FALSE or (token.kind == NUMBER and token.text == "0"):
        return False
    raise ValueError(f"expected true or false, not {show(token)}")


def enum_number(token: Token, negative: bool, enum: EnumDescriptor) -> int:
    """The number of an enum's value, given by its name or number."""
    if token.kind == WORD and not negative:
        value = enum.values_by_name.get(token.text)
        if value is not None:
            return int(value.number)
    elif token.kind == NUMBER:
        number = integer(token, negative, "int32")
        if number in enum.values_by_number:
            return number
    raise ValueError(_enum_fault(token, enum))


def _enum_fault(token: Token, enum: EnumDescriptor) -> str:
    names = list(enum.values_by_name)
    bare = token.text.strip("\"'")
    if token.kind == STRING and bare in names:
        return f"expected {bare} without quotes"
    close = nearest(bare, names)
    hint = f"; did you mean {close}?" if close else ""
    if len(names) > _FEW and close:
        return f"unknown value {show(token)}{hint}"
    return f"unknown value {show(token)}{hint} (known: {', '.join(names)})"


_ESCAPE = re.compile(
    rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})"
    rb"|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))",
    re.DOTALL,
)
_SIMPLE = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
    b"\\": b"\\",
    b"'": b"'",
    b'"': b'"',
    b"?": b"?",
}


def _unescape(match: re.Match[bytes]) -> bytes:
    octal, two, four, eight, simple = match.groups()
    if octal:
        return bytes([int(octal, 8) & 255])
    if two:
        return bytes([int(two, 16)])
    if four or eight:
        return chr(int(four or eight, 16)).encode("utf-8", "surrogatepass")
    if simple in _SIMPLE:
        return _SIMPLE[simple]
    raise ValueError(
        f"unknown escape \\{simple.decode(errors='replace')} in a string "
        "(a backslash is written twice)"
    )


def byte_string(tokens: list[Token]) -> bytes:
    """The bytes of one or more string tokens that follow each other."""
    parts = []
    for token in tokens:
        raw = token.text[1:-1].encode("utf-8", "surrogateescape")
        parts.append(_ESCAPE.sub(_unescape, raw) if b"\\" in raw else raw)
    return b"".join(parts)


def text_string(tokens: list[Token]) -> str:
    """The text of one or more string tokens that follow each other."""
    try:
        return byte_string(tokens).decode()
    except UnicodeDecodeError:
        raise ValueError("the string is not UTF-8; save the file as UTF-8") from None


def show(token: Token) -> str:
    """A token as a message names it."""
    if token.kind == STRING:
        return f"the string {token.text}"
    if not token.text:
        return "the end of the file"
    code = "" if token.text.isascii() else f" (U+{ord(token.text[0]):04X})"
    return f"'{token.text}'{code}"


def scalar(kind: str, token: Token, negative: bool, enum: Any) -> int | float | bool:
    """The value of a field that is neither a string nor a message."""
    if kind in _LARGEST:
        return real(token, negative, kind)
    if kind == "enum":
        return enum_number(token, negative, enum)
    if kind == "bool":
        if negative:
            raise ValueError("expected true or false, not a negative number")
        return boolean(token)
    return integer(token, negative, kind)
