"""Errors of pycaffe's functions that are also the built-in ones that scripts expect."""

from geeps_caffe.errors import UsageError


class ArrayError(UsageError, ValueError):
    """An array that a program gives has a shape or values that don't fit."""


class CropError(UsageError, AssertionError):
    """A top can't be cropped to another: strides or offsets are at odds."""


class UnrelatedError(UsageError, RuntimeError):
    """Two tops have no common origin that places can be followed to."""
