"""Hosts made of network namespaces, joined by a bridge, with links of a given rate."""

import os
import subprocess
from dataclasses import dataclass, field


def allowed():
    """Whether this user may make namespaces, links and queues; else why not."""
    try:
        subprocess.run(["ip", "netns", "add", "gctry"], check=True, capture_output=True)
        subprocess.run(["ip", "netns", "del", "gctry"], check=True, capture_output=True)
    except FileNotFoundError:
        return "there is no 'ip' (iproute2)"
    except subprocess.CalledProcessError as error:
        return error.stderr.decode().strip()
    return None


@dataclass
class Network:
    """`count` hosts; use it as a context."""

    count: int
    names: list[str] = field(default_factory=list)
    switch: str = field(default_factory=lambda: f"gs{os.getpid()}")

    def address(self, host):
        """Of a host."""
        return f"10.77.0.{host + 1}"

    def __enter__(self):
        """Make switch, hosts and links."""
        self._ip(f"netns add {self.switch}")
        self._in(self.switch, "ip link add br0 type bridge")
        self._in(self.switch, "ip link set br0 up")
        for host in range(self.count):
            name = f"gh{os.getpid()}_{host}"
            self.names.append(name)
            self._ip(f"netns add {name}")
            self._ip(
                f"link add eth0 netns {name} type veth peer name p{host} "
                f"netns {self.switch}"
            )
            self._in(name, "ip link set lo up")
            self._in(name, f"ip addr add {self.address(host)}/24 dev eth0")
            self._in(name, "ip link set eth0 up")
            self._in(self.switch, f"ip link set p{host} master br0 up")
        return self

    def __exit__(self, *error):
        """Take all down."""
        for name in [*self.names, self.switch]:
            subprocess.run(["ip", "netns", "del", name], check=False)

    def shape(self, bits):
        """Let each host send so many bits a second; None: as many as it can."""
        for name in self.names:
            words = ["ip", "netns", "exec", name, "tc", "qdisc"]
            subprocess.run([*words, "del", "dev", "eth0", "root"], capture_output=True)
            if bits is None:
                continue
            burst = max(int(bits / 8 / 100), 64 << 10)  # of a hundredth of a second
            rule = f"root tbf rate {int(bits)}bit burst {burst} limit {4 * burst}"
            subprocess.run([*words, "add", "dev", "eth0", *rule.split()], check=True)

    def run(self, commands, folder, environ):
        """One command a host; exit codes and standard errors."""
        started = []
        for name, command in zip(self.names, commands, strict=True):
            started.append(
                subprocess.Popen(
                    ["ip", "netns", "exec", name, *command],
                    cwd=folder,
                    env=environ,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        return [(p.wait(), p.stderr.read()) for p in started]

    def _ip(self, words):
        subprocess.run(["ip", *words.split()], check=True)

    def _in(self, name, words):
        subprocess.run(["ip", "netns", "exec", name, *words.split()], check=True)
