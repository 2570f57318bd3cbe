"""The reference engine: the plain definition of every operation, in NumPy.

DEFINITIONS is the table from an operation's class to its definition. The functions
take an array module, so the same code is the fallback of every engine.
"""

from geeps_caffe.engines import operations
from geeps_caffe.engines.reference import activation
from geeps_caffe.engines.reference.definition import Definition

DEFINITIONS: dict[type, Definition] = {
    operations.Activation: activation.DEFINITION,
}

__all__ = ["DEFINITIONS", "Definition"]
