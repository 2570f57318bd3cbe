"""Tables of the host, for a device that copies params in and gradients out."""

import logging

from geeps_caffe.device.device import Device
from geeps_caffe.paramserver import Client

_LOG = logging.getLogger(__name__)


def pin_tables(client: Client, device: Device) -> None:
    """Let the device's copy engines reach the tables; says so where they can't."""
    refused = [block for block in client.blocks() if not device.pin(block)]
    if refused:
        _LOG.warning(
            "the tables' memory can't be pinned (see `ulimit -l`): copies to and from "
            "the device will not overlap with computing"
        )


def unpin_tables(client: Client, device: Device) -> None:
    """Before the client gives the tables' memory back."""
    for block in client.blocks():
        device.unpin(block)
