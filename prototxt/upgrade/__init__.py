"""Older nets and solvers to the current schema, one file per generation.

Every step is a function from message to message. `upgrade_net` applies those that a
net needs, in Caffe's order, and says so in Caffe's words.
"""

from dataclasses import dataclass

from prototxt.errors import PrototxtError
from prototxt.schema import Message
from prototxt.upgrade.batch_norm import needs_batch_norm_upgrade, upgrade_batch_norm
from prototxt.upgrade.fork_fields import needs_fork_upgrade, upgrade_fork_fields
from prototxt.upgrade.inputs import needs_input_upgrade, upgrade_inputs
from prototxt.upgrade.notes import Note
from prototxt.upgrade.solver import (
    canonical_type,
    needs_solver_upgrade,
    upgrade_solver,
)
from prototxt.upgrade.transforms import needs_transform_upgrade, upgrade_transforms
from prototxt.upgrade.v0 import needs_v0_upgrade, upgrade_v0
from prototxt.upgrade.v1 import needs_v1_upgrade, upgrade_v1

__all__ = [
    "Note",
    "Upgraded",
    "canonical_type",
    "needs_net_upgrade",
    "needs_solver_upgrade",
    "upgrade_net",
    "upgrade_solver",
]

INPUT_LAYER = -1


@dataclass(frozen=True)
class Upgraded:
    """A net in the current format.

    Attributes:
        message: the net.
        notes: Caffe's log messages.
        sources: for each layer the index of the old layer it was made of;
            INPUT_LAYER for a layer made of `input` fields.
        complete: False if something of the old net could not be kept.
    """

    message: Message
    notes: tuple[Note, ...]
    sources: tuple[int, ...]
    complete: bool


def needs_net_upgrade(net: Message) -> bool:
    """Whether anything in the net is in an older form."""
    return (
        needs_v1_upgrade(net)
        or needs_input_upgrade(net)
        or needs_batch_norm_upgrade(net)
        or needs_fork_upgrade(net)
    )


def upgrade_net(net: Message, name: str) -> Upgraded:
    """The net in the current format; the given message is left as it is.

    Args:
        net: a net in any one format.
        name: the file's name, for the notes.

    Raises:
        PrototxtError: the net mixes old and new layers, or an old part makes no sense.
    """
    if len(net.layers) > 0 and len(net.layer) > 0:
        raise PrototxtError(
            "Refusing to upgrade inconsistent NetParameter input; the definition "
            "includes both 'layer' and 'layers' fields.",
            name,
        )
    try:
        return _Upgrade(net, name).run()
    except PrototxtError as error:
        raise PrototxtError(error.faults, name) from error


class _Upgrade:
    """The steps of one upgrade."""

    def __init__(self, net: Message, name: str) -> None:
        self.net = net
        self.name = name
        self.notes: list[Note] = []
        self.sources = list(range(len(net.layer) or len(net.layers)))
        self.complete = True

    def run(self) -> Upgraded:
        """Take each step that is needed."""
        if needs_v0_upgrade(self.net):
            self._v0()
        if needs_transform_upgrade(self.net):
            self._transforms()
        if needs_v1_upgrade(self.net):
            self._v1()
        if needs_input_upgrade(self.net):
            self._inputs()
        if needs_batch_norm_upgrade(self.net):
            self._batch_norm()
        if needs_fork_upgrade(self.net):
            self.net, notes = upgrade_fork_fields(self.net)
            self.notes += notes
        return Upgraded(self.net, tuple(self.notes), tuple(self.sources), self.complete)

    def _attempt(self, what: str) -> None:
        text = f"Attempting to upgrade {what}: {self.name}"
        self.notes.append(Note("I", text))

    def _v0(self) -> None:
        old = "file specified using deprecated V0LayerParameter"
        self._attempt(f"input {old}")
        self.net, problems, kept = upgrade_v0(self.net)
        self.sources = [self.sources[i] for i in kept]
        self._outcome(
            problems,
            f"Successfully upgraded {old}",
            "Warning: had one or more problems upgrading V0NetParameter to "
            "NetParameter (see above); continuing anyway.",
        )
        self.notes.append(
            Note(
                "W",
                "Note that future Caffe releases will not support V0NetParameter; "
                "use ./build/tools/upgrade_net_proto_text for prototxt and "
                "./build/tools/upgrade_net_proto_binary for model weights upgrade "
                "this and any other net protos to the new format.",
            )
        )

    def _transforms(self) -> None:
        self._attempt("input file specified using deprecated transformation parameters")
        self.net = upgrade_transforms(self.net)
        self.notes += [
            Note(
                "I",
                "Successfully upgraded file specified using deprecated "
                "data transformation parameters.",
            ),
            Note(
                "W",
                "Note that future Caffe releases will only support "
                "transform_param messages for transformation fields.",
            ),
        ]

    def _v1(self) -> None:
        old = "file specified using deprecated V1LayerParameter"
        self._attempt(f"input {old}")
        self.net, problems = upgrade_v1(self.net)
        self._outcome(
            problems,
            f"Successfully upgraded {old}",
            "Warning: had one or more problems upgrading V1LayerParameter "
            "(see above); continuing anyway.",
        )

    def _inputs(self) -> None:
        old = "file specified using deprecated input fields"
        self._attempt(f"input {old}")
        self.net, added = upgrade_inputs(self.net)
        if added:
            self.sources.insert(0, INPUT_LAYER)
        self.notes += [
            Note("I", f"Successfully upgraded {old}."),
            Note(
                "W",
                "Note that future Caffe releases will only support input layers "
                "and not input fields.",
            ),
        ]

    def _batch_norm(self) -> None:
        old = "batch norm layers using deprecated params"
        self._attempt(old)
        self.net = upgrade_batch_norm(self.net)
        self.notes.append(Note("I", f"Successfully upgraded {old}."))

    def _outcome(self, problems: list[Note], success: str, failure: str) -> None:
        self.notes += problems
        if problems:
            self.complete = False
        self.notes.append(Note("E", failure) if problems else Note("I", success))
