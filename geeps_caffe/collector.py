"""When Python looks for garbage: not while modules are imported, since these stay."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def put_off() -> None:
    """Not before `begin`: in a process of our own, at its start."""
    gc.disable()


def begin() -> None:
    """From now on, where it was put off; never among what there is already."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


@contextmanager
def importing() -> Iterator[None]:
    """Not within this. In a process of our own what is imported is kept as well."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count():
            gc.freeze()
        if enabled:
            gc.enable()
