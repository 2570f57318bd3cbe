"""What CuPy offers and how it is called, as `record` wrote it down.

The double refuses what CuPy lacks, and arguments that CuPy would not take.
"""

import inspect
import re
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("facts.txt")


@cache
def known(kind):
    """Name -> signature, or None where there is none, of one kind of fact."""
    found = {}
    for line in FILE.read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == kind:
            name, bracket, parameters = rest.partition("(")
            found[name] = signature(parameters[:-1]) if bracket else None
    return found


@cache
def version():
    """That of the CuPy that was written down."""
    return FILE.read_text().split()[1]


def signature(text):
    """Of parameters written as `a, b=, *, c=, **d`."""
    kinds = inspect.Parameter
    kind, found = kinds.POSITIONAL_OR_KEYWORD, []
    for part in filter(None, text.split(", ")):
        stars, name, equals = re.fullmatch(r"(\**)(\w*)(=?)", part).groups()
        if stars == "**":
            found.append(kinds(name, kinds.VAR_KEYWORD))
            continue
        if stars:
            kind = kinds.KEYWORD_ONLY
            if name:
                found.append(kinds(name, kinds.VAR_POSITIONAL))
            continue
        default = None if equals else kinds.empty
        found.append(kinds(name, kind, default=default))
    return inspect.Signature(found)


def check(kind, name, args, options):
    """Refuse a call that CuPy would refuse.

    Raises:
        AttributeError: CuPy has no such name, or none is written down.
        TypeError: it takes other arguments.
    """
    facts = known(kind)
    if name not in facts:
        raise AttributeError(f"no {kind} {name!r} of CuPy is written down")
    if facts[name] is not None:
        facts[name].bind(*args, **options)
