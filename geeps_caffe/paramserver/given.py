"""What a program hands in, checked where it is handed in."""

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError

_NUMBERS = "fiub"  # kinds of dtypes that a table's numbers may be made of


def text(what: str, value: object) -> str:
    """A name, or another text.

    Raises:
        ParameterServerError: it is something else; `what` says of what.
    """
    if isinstance(value, str):
        return value
    raise ParameterServerError(f"{what} is {value!r}, no text")


def listed(what: str, values: Any, kind: str) -> tuple[Any, ...]:
    """The items of a list, or of anything else that can be gone through.

    Raises:
        ParameterServerError: it is no such thing; `kind` says of what it should be.
    """
    if not isinstance(values, str | bytes):
        try:
            return tuple(values)
        except TypeError:
            pass
    raise ParameterServerError(f"{what} is {values!r}; expected a list of {kind}")


def whole(what: str, value: object) -> int:
    """A whole number.

    Raises:
        ParameterServerError: it is something else; `what` says of what.
    """
    try:
        if not isinstance(value, bool | np.bool_):
            return operator.index(value)  # type: ignore[arg-type]  # that is asked
    except TypeError:
        pass
    raise ParameterServerError(f"{what} is {value!r}; expected a whole number")


def wholes(what: str, values: Iterable[object]) -> tuple[int, ...]:
    """Whole numbers, of rows or of a shape.

    Raises:
        ParameterServerError: one is something else, or all of it is.
    """
    items = listed(what, values, "whole numbers")
    return tuple(whole(f"one of {what}", item) for item in items)


def real(what: str, value: Any) -> float:
    """A number.

    Raises:
        ParameterServerError: it is something else.
    """
    try:
        if not isinstance(value, str | bytes):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ParameterServerError(f"{what} is {value!r}; expected a number")


def reals(what: str, values: Sequence[Any]) -> list[float]:
    """Numbers.

    Raises:
        ParameterServerError: one is something else, or all of it is.
    """
    items = listed(what, values, "numbers")
    return [real(f"one of {what}", item) for item in items]


def numbers(what: str, values: Any, size: int, dtype: str) -> Array:
    """A flat copy of so many numbers.

    Raises:
        ParameterServerError: there are more or fewer, or they are no real numbers.
    """
    try:
        given = np.asarray(values)
    except ValueError as error:  # lists of several lengths
        raise ParameterServerError(f"{what}: {error}") from error
    if given.size != size:
        raise ParameterServerError(
            f"{what} has {size} elements, {given.size} were given"
        )
    if given.dtype.kind not in _NUMBERS:
        raise ParameterServerError(
            f"{what} is of {dtype}, values of {given.dtype} were given"
        )
    return np.array(given, dtype).reshape(-1)
