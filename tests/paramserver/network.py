"""A network whose every delay is chosen by a random number generator.

Workers run real clients, one thread each, but only one runs at a time: whoever waits
for a message hands over to the scheduler, which picks what happens next (a message
arrives at the host, the host does a piece of work, a worker goes on). A seed is a run.
"""

import random
import threading
from collections import deque

from geeps_caffe.device.array import allocate
from geeps_caffe.paramserver import Client, RemoteStore
from geeps_caffe.paramserver.host import Host
from tests.paramserver.programs import leaving


class Killed(BaseException):
    """Ends the thread of a worker that the scheduler has killed."""


class ScheduledLink:
    def __init__(self, worker):
        self.worker = worker

    def send(self, *messages):
        self.worker.up.extend(messages)

    def receive(self, timeout):
        while not self.worker.down:
            self.worker.hand_over()
        return self.worker.down.popleft()

    def memory(self, nbytes):
        return self.worker.network.block_of(self.worker.rank)[:nbytes]

    def close(self):
        pass


class Worker:
    def __init__(self, network, rank, program):
        self.network = network
        self.rank = rank
        self.program = program
        self.up, self.down = deque(), deque()
        self.waiting = self.finished = self.killed = False
        self.outcome = None
        self.turn = threading.Semaphore(0)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        self.turn.acquire()
        try:
            if self.killed:
                raise Killed
            network = self.network
            link = ScheduledLink(self)
            store = RemoteStore(
                link, self.rank, network.ranks, None, network.read_my_writes
            )
            with leaving(Client(store, network.overlap)) as client:
                self.outcome = self.program(client)
        except Killed:
            self.outcome = "killed"
        except Exception as error:
            self.outcome = error
        self.finished = True
        self.network.turn.release()

    @property
    def can_run(self):
        return not self.finished and (not self.waiting or bool(self.down))

    def hand_over(self):
        self.waiting = True
        self.network.turn.release()
        self.turn.acquire()
        if self.killed:
            raise Killed
        self.waiting = False

    def go_on(self):
        self.turn.release()
        self.network.turn.acquire()

    def kill(self):
        """Its thread ends at once; what it sent last is lost."""
        self.killed = True
        self.up.clear()
        self.go_on()


class Network:
    """Runs `program(client)` for each rank; outcomes are results or exceptions."""

    read_my_writes = False

    def __init__(self, ranks, seed, program, overlap=True):
        self.ranks = ranks
        self.overlap = overlap
        self.killed, self.names_of_killed = set(), []
        self.random = random.Random(seed)
        self.make_hosts()
        self.turn = threading.Semaphore(0)
        self.workers = [Worker(self, rank, program) for rank in range(ranks)]
        speeds = (0.05, 0.3, 1.0, 1.0)  # some seeds have very slow workers or links
        self.speed = [self.random.choice(speeds) for _ in range(2 * ranks + 1)]

    def make_hosts(self):
        self.host = Host(self.ranks, self.allocate, now=0.0)

    def block_of(self, rank):
        return self.block

    def allocate(self, nbytes):
        self.block = allocate(nbytes)
        return self.block

    def run(self, kill_after=None, victim=1):
        """Until all have finished; kills a rank after so many events."""
        try:
            self.proceed(kill_after, victim)
        finally:
            self.end_threads()
        return [w.outcome for w in self.workers]

    def proceed(self, kill_after, victim):
        events = 0
        while not all(w.finished for w in self.workers):
            choices = list(self.choices())
            assert choices, "deadlock: " + self.describe()
            weights = [weight for weight, _ in choices]
            ((_, event),) = self.random.choices(choices, weights)
            event()
            events += 1
            if events == kill_after:
                self.kill(self.workers[victim])

    def end_threads(self):
        """Those of workers that have not finished too: the run is over."""
        for worker in self.workers:
            if not worker.finished:
                worker.kill()
            worker.thread.join()

    def choices(self):
        for worker in self.workers:
            if worker.up:
                yield self.speed[worker.rank], lambda w=worker: self.arrive(w)
            if worker.can_run:
                yield self.speed[self.ranks + worker.rank], worker.go_on
        if self.host.busy:
            yield self.speed[-1], lambda: self.post(self.host.work())

    def arrive(self, worker):
        self.post(self.host.receive(worker.rank, worker.up.popleft(), now=0.0))

    def post(self, out):
        for rank, message in out:
            self.workers[rank].down.append(message)

    def kill(self, worker):
        if worker.finished:
            return
        self.end(worker)
        self.post(self.host.lost(worker.rank, "it was killed"))

    def end(self, worker):
        self.killed.add(worker.rank)
        self.names_of_killed.append(f"lost rank {worker.rank} ")
        worker.kill()

    def describe(self):
        return str([(w.rank, w.finished, w.waiting, len(w.up)) for w in self.workers])
