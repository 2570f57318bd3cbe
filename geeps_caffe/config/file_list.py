"""Several files in one text, as -weights and a solver's `weights` take them."""

from geeps_caffe.errors import UsageError


def files_in(text: str) -> list[str]:
    """The names between commas, without the blanks around them; none in an empty text.

    >>> files_in("base.caffemodel, head.caffemodel")
    ['base.caffemodel', 'head.caffemodel']

    Raises:
        UsageError: a name is empty.
    """
    names = [name.strip() for name in text.split(",")] if text.strip() else []
    if not all(names):
        raise UsageError(
            f"weights {text!r}: a name between commas is empty; expected FILE,FILE"
        )
    return names
