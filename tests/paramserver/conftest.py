import threading
import time

import pytest

PATIENCE = 60  # seconds until a thread that does not end is called a leak


@pytest.fixture(autouse=True)
def no_thread_is_left():
    """A worker's threads end with its client, however its run ended."""
    before = set(threading.enumerate())
    yield
    end = time.monotonic() + PATIENCE
    started = [t for t in threading.enumerate() if t not in before and not lasting(t)]
    for thread in started:
        thread.join(max(0.0, end - time.monotonic()))
    names = [thread.name for thread in started if thread.is_alive()]
    assert not names, f"threads that go on after the test: {names}"


def lasting(thread):
    """Whether it is the one in which pyzmq forgets arrays: it ends with the process."""
    return type(thread).__module__ == "zmq.utils.garbage"
