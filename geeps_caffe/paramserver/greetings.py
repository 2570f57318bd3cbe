"""A worker's first words, as an agent checks them."""

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.messages import PROTOCOL, Hello


def check_hello(hello: Hello, rank: int, ranks: int) -> None:
    """The worker is of this version and of this run.

    Raises:
        ParameterServerError: it is not; says what both have.
    """
    if hello.protocol != PROTOCOL:
        raise ParameterServerError(
            f"rank {rank} speaks protocol {hello.protocol}, this agent {PROTOCOL}; "
            "install one version everywhere"
        )
    if hello.ranks != ranks:
        raise ParameterServerError(
            f"rank {rank} is one of {hello.ranks}, this agent serves {ranks}"
        )
