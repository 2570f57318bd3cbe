"""A thread that tells the owner of the tables that this process lives."""

import threading

from geeps_caffe.paramserver.messages import Beat
from geeps_caffe.paramserver.transport.base import Link


class Heartbeat:
    """Wakes every `seconds`, sends a few bytes, sleeps: it never keeps Python busy."""

    def __init__(self, link: Link, seconds: float) -> None:
        self._link = link
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            self._link.send(Beat())

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join()
