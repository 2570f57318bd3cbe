"""What is saved of a run that ends because a worker is lost."""

import re

from geeps_caffe.errors import PeerLost
from geeps_caffe.execution.saved_weights import save_weights
from geeps_caffe.execution.snapshot import snapshot_prefix
from geeps_caffe.execution.training import Training
from geeps_caffe.files import DISK, FileSystem

_FIRST_LOST = re.compile(r"\b(?:lost|from) (?:host \S+ \()?ranks? 0(?: to (\d+))?\b")


def rescuer(error: PeerLost) -> int:
    """The rank that saves: the first one that is not lost.

    >>> rescuer(PeerLost("lost rank 2 (host a, process 7): it was killed"))
    0
    >>> rescuer(PeerLost("lost host b (ranks 0 to 1): its connection was closed"))
    2
    >>> rescuer(PeerLost("rank 0 (process 7) waited for table 'w': the agent is gone"))
    0
    """
    match = _FIRST_LOST.search(str(error))
    return 0 if match is None else int(match[1] or 0) + 1


def rescue(
    training: Training,
    path: str,
    iteration: int,
    error: PeerLost,
    disk: FileSystem = DISK,
) -> str | None:
    """Write the weights as they are; returns the file's name if this rank did.

    Some tables may have the last update and others not: it is no snapshot to go on from
    bit by bit, but weights to go on with (-weights).

    Raises:
        InputError: the file can't be written.
    """
    if training.settings.rank != rescuer(error):
        return None
    prefix = snapshot_prefix(training.solver, path)
    name = f"{prefix}_rescued_iter_{iteration}.caffemodel"
    save_weights(training.net, name, disk)
    return name
