"""One host of a cluster as a process: `host.py JSON`, for test_launch_host.py."""

import json
import logging
import sys
from pathlib import Path

from geeps_caffe.errors import GeepsCaffeError
from geeps_caffe.paramserver import Limits
from geeps_caffe.paramserver.cluster import Cluster
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.launch import launch_host
from geeps_caffe.paramserver.transport.addresses import Address
from geeps_caffe.paramserver.transport.keys import read_key


def main():
    what = json.loads(sys.argv[1])
    logging.basicConfig(format="%(message)s")
    counts = tuple(what["counts"])
    names = tuple(what.get("names") or ["127.0.0.1"] * len(counts))
    cluster = Cluster(
        Places(names, counts, what["host"]),
        tuple(Address(n, p) for n, p in zip(names, what["ports"], strict=True)),
        read_key(Path(what["key"])) if what.get("key") else None,
        channels=what.get("channels", 1),
        wire=what.get("wire", "fp32"),
        job=what.get("job", {}),
    )
    limits = Limits(**{"silence": 30.0, "grace": 2.0, **what.get("limits", {})})
    folder = Path(what["folder"])
    worker = [sys.executable, "-m", "tests.paramserver.worker"]
    command = [*worker, what["mode"], str(folder), *what.get("arguments", [])]
    try:
        sys.exit(launch_host(command, cluster, folder / "logs", limits))
    except GeepsCaffeError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
