"""Where agents listen: names and ports, and which of them are on this machine."""

import ipaddress
import socket
from dataclasses import dataclass

from geeps_caffe.errors import InputError


@dataclass(frozen=True)
class Address:
    """A host's name or number, and a port."""

    name: str
    port: int

    @property
    def url(self) -> str:
        """As ZeroMQ writes it."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"tcp://{name}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether nobody outside of this machine can be meant.

        A name counts as such only if it says so itself: a machine's own name often
        leads to 127.0.1.1, where no other machine would find it.
        """
        if self.name == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.name).is_loopback
        except ValueError:
            return False

    def check(self) -> None:
        """See whether the name is known.

        Raises:
            InputError: it is not.
        """
        try:
            socket.getaddrinfo(self.name, self.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise InputError(f"host {self.name!r} is not known: {error}") from error
