"""Command-line flags as gflags reads them, from a table.

    TABLE = (
        Flag("backend", "lmdb", "the kind of database", choices=("lmdb", "leveldb")),
        Flag("resize_width", 0, "width the images are resized to"),
        Flag("gray", False, "treat images as greyscale ones"),
    )
    line = parse(argv, TABLE, "convert_imageset")
    line["gray"], line.words, line.given

The type of a flag is the type of its default: bool, int, float or str. All of
gflags' spellings are understood: `-name value`, `--name value`, `-name=value`,
`--name=value`; for booleans `-gray`, `-nogray`, `--gray=true` (a boolean never takes
the next word). Words that are no flags, such as the action of `caffe train`, may
stand first, last or between the flags; `--` ends the flags. A flag given twice has
its last value. A dash inside a name is read as an underscore.
"""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from geeps_caffe.errors import UsageError, unknown

Value: TypeAlias = bool | int | float | str

_TRUE = ("1", "t", "true", "y", "yes")
_FALSE = ("0", "f", "false", "n", "no")


@dataclass(frozen=True)
class Flag:
    """One flag: its name, default (which gives its type), and help."""

    name: str
    default: Value
    help: str = ""
    choices: tuple[str, ...] = ()  # the only values allowed; empty: any
    least: int | None = None  # of a number; None: any


@dataclass(frozen=True)
class CommandLine:
    """What a command line says: a value for every flag of the table, and the words."""

    values: Mapping[str, Value]
    words: tuple[str, ...]
    given: frozenset[str]  # flags that the line names, default or not

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def text(self, name: str) -> str:
        """The value of a flag whose default is a str."""
        value = self.values[name]
        assert isinstance(value, str)
        return value

    def integer(self, name: str) -> int:
        """The value of a flag whose default is an int."""
        value = self.values[name]
        assert isinstance(value, int)
        return value

    def real(self, name: str) -> float:
        """The value of a flag whose default is a float."""
        value = self.values[name]
        assert isinstance(value, float)
        return value

    def switch(self, name: str) -> bool:
        """The value of a flag whose default is a bool."""
        value = self.values[name]
        assert isinstance(value, bool)
        return value


def parse(argv: Iterable[str], table: Sequence[Flag], program: str = "") -> CommandLine:
    """Read `argv` (without the program's own name).

    Raises:
        UsageError: an unknown flag (with the nearest name), a missing value, or a
            value of another type, outside of the flag's choices or too small.
    """
    flags = {flag.name: flag for flag in table}
    values = {flag.name: flag.default for flag in table}
    words: list[str] = []
    given: set[str] = set()
    rest = iter(argv)
    for word in rest:
        if word == "--":
            words += rest
        elif not word.startswith("-") or word == "-" or _is_number(word):
            words.append(word)
        else:
            flag, value = _read(word, rest, flags, program)
            values[flag.name] = value
            given.add(flag.name)
    return CommandLine(values, tuple(words), frozenset(given))


def usage(table: Sequence[Flag]) -> str:
    """The table as help text, in the form that gflags prints."""
    return "\n".join(_describe(flag) for flag in sorted(table, key=lambda f: f.name))


def _describe(flag: Flag) -> str:
    kind = {bool: "bool", int: "int32", float: "double", str: "string"}
    default = f'"{flag.default}"' if isinstance(flag.default, str) else flag.default
    if isinstance(flag.default, bool):
        default = str(flag.default).lower()
    line = f"-{flag.name} ({flag.help}) type: {kind[type(flag.default)]} "
    return textwrap.fill(
        f"{line}default: {default}",
        width=80,
        initial_indent="    ",
        subsequent_indent="      ",
        break_on_hyphens=False,
    )


def _read(
    word: str, rest: Iterator[str], flags: Mapping[str, Flag], program: str
) -> tuple[Flag, Value]:
    """The flag that `word` names and its value, taken from `rest` if need be."""
    name, equals, text = word.lstrip("-").partition("=")
    name = name.replace("-", "_")
    where = f"{program}: " if program else ""
    if not equals and name not in flags and name.startswith("no"):
        negated = flags.get(name[2:])
        if negated and isinstance(negated.default, bool):
            return negated, False
    if name not in flags:
        raise UsageError(where + unknown("flag", name, flags))
    flag = flags[name]
    if not equals:
        if isinstance(flag.default, bool):
            return flag, True
        try:
            text = next(rest)
        except StopIteration:
            raise UsageError(f"{where}flag -{name} needs a value") from None
    return flag, _convert(flag, text, where)


def _convert(flag: Flag, text: str, where: str) -> Value:
    kind = type(flag.default)
    try:
        value = _boolean(text) if kind is bool else kind(text)
    except ValueError:
        names = {bool: "true or false", int: "a whole number", float: "a number"}
        raise UsageError(
            f"{where}flag -{flag.name} is {text!r}; expected {names[kind]}"
        ) from None
    if flag.choices and value not in flag.choices:
        known = unknown(f"value of -{flag.name}", text, flag.choices)
        raise UsageError(f"{where}{known}")
    if flag.least is not None and kind is int and int(value) < flag.least:
        raise UsageError(f"{where}-{flag.name} is {value}; give {flag.least} or more")
    return value


def _boolean(text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise ValueError(text)


def _is_number(word: str) -> bool:
    """Whether a word such as -1 is a value and not a flag."""
    try:
        float(word)
    except ValueError:
        return False
    return True
