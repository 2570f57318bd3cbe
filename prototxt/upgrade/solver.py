"""Solvers: the old enum solver_type to the name in type; names in any case."""

from prototxt.errors import PrototxtError
from prototxt.schema import Message, SolverParameter, enum_name
from prototxt.upgrade.notes import Note

TYPES = ("SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam")
_BY_UPPER = {name.upper(): name for name in TYPES}


def needs_solver_upgrade(solver: Message) -> bool:
    """Whether the solver has the old field."""
    return bool(solver.HasField("solver_type"))


def upgrade_solver(solver: Message, name: str) -> tuple[Message, list[Note]]:
    """The solver with its type as a name.

    Args:
        solver: any solver; one that is current comes back as it is.
        name: the file's name, for the notes.

    Raises:
        PrototxtError: both fields are given.
    """
    if not needs_solver_upgrade(solver):
        return solver, []
    if solver.HasField("type"):
        raise PrototxtError(
            f"the solver has both 'type: \"{solver.type}\"' and the old "
            f"'solver_type: {enum_name(solver, 'solver_type')}'; remove the old one",
            name,
        )
    new = SolverParameter()
    new.CopyFrom(solver)
    old_type = enum_name(solver, "solver_type")
    new.type = _BY_UPPER.get(old_type, old_type)
    new.ClearField("solver_type")
    what = "deprecated 'solver_type' field (enum)"
    return new, [
        Note("I", f"Attempting to upgrade input file specified using {what}': {name}"),
        Note(
            "I",
            f"Successfully upgraded file specified using {what} "
            "to 'type' field (string).",
        ),
        Note(
            "W",
            "Note that future Caffe releases will only support 'type' field (string) "
            "for a solver's type.",
        ),
    ]


def canonical_type(name: str) -> str:
    """A solver type in Caffe's spelling, whatever its case; others as they are.

    >>> canonical_type("ADAM")
    'Adam'
    """
    return _BY_UPPER.get(name.upper(), name)
