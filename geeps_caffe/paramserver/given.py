"""What a program hands in, checked where it is handed in."""

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError

_NUMBERS = "fiub"  # kinds of dtypes that a table's numbers may be made of


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
    try:
        listed = list(values)
    except TypeError:
        raise ParameterServerError(
            f"{what} is {values!r}; expected a list of whole numbers"
        ) from None
    return tuple(whole(f"one of {what}", value) for value in listed)


def real(what: str, value: Any) -> float:
    """A number.

    Raises:
        ParameterServerError: it is something else.
    """
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ParameterServerError(f"{what} is {value!r}; expected a number") from None


def reals(what: str, values: Sequence[Any]) -> list[float]:
    """Numbers.

    Raises:
        ParameterServerError: one is something else, or all of it is.
    """
    if not hasattr(values, "__iter__"):
        raise ParameterServerError(f"{what} is {values!r}; expected a list of numbers")
    return [real(f"one of {what}", value) for value in values]


def numbers(what: str, values: Any, size: int, dtype: str) -> Array:
    """A flat copy of so many numbers.

    Raises:
        ParameterServerError: there are more or fewer, or they are no real numbers.
    """
    given = np.asarray(values)
    if given.size != size:
        raise ParameterServerError(
            f"{what} has {size} elements, {given.size} were given"
        )
    if given.dtype.kind not in _NUMBERS:
        raise ParameterServerError(
            f"{what} is of {dtype}, values of {given.dtype} were given"
        )
    return np.array(given, dtype).reshape(-1)
