"""What an agent must know of a run of several hosts, and its way to the others."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from geeps_caffe.paramserver.hosts.passport import Passport
from geeps_caffe.paramserver.hosts.pieces import LOCAL_PIECE_BYTES, PIECE_BYTES
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.transport.addresses import Address
from geeps_caffe.paramserver.transport.keys import ClusterKey
from geeps_caffe.paramserver.transport.network import Network


@dataclass(frozen=True)
class Cluster:
    """The hosts of a run, seen from one of them.

    `addresses` are empty where MPI connects the agents. `job` says what must be the
    same everywhere besides the tables: hashes of files, settings.
    """

    places: Places
    addresses: tuple[Address, ...] = ()
    key: ClusterKey | None = None
    channels: int = 1
    wire: str = "fp32"
    trusted: bool = False  # the network: no key is needed anywhere
    job: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def piece_bytes(self) -> int:
        """What agents move at a time."""
        local = self.addresses and all(address.loopback for address in self.addresses)
        return LOCAL_PIECE_BYTES if local else PIECE_BYTES

    @cached_property
    def passport(self) -> Passport:
        """What the agents compare."""
        job = {**self.job, "bytes of a piece": str(self.piece_bytes)}
        job["channels"] = str(self.channels)
        return Passport(self.places.counts, self.wire, job=job)


def make_network(cluster: Cluster) -> Network:
    """Listen, and begin to connect.

    Raises:
        UsageError: a key is needed, the port is taken, or a library is missing.
        InputError: the name of a host is not known.
    """
    if not cluster.addresses:
        from geeps_caffe.paramserver.transport.mpi import MpiNetwork  # noqa: PLC0415

        return MpiNetwork(cluster.places, cluster.passport)
    from geeps_caffe.paramserver.transport.zeromq import (  # noqa: PLC0415
        ZeroMqNetwork,
    )

    for address in cluster.addresses:
        address.check()
    return ZeroMqNetwork(
        cluster.places,
        cluster.passport,
        cluster.addresses,
        cluster.key,
        cluster.channels,
        cluster.trusted,
    )
