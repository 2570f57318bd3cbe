"""The network of hosts in simulated time: computing and links take seconds.

Workers and agents decide in no time; a worker computes for as long as it says, and each
host sends its letters, most urgent first, over one link of a given rate.
"""

import heapq

from tests.paramserver.hosts.network import ClusterNetwork


class TimedNetwork(ClusterNetwork):
    """Runs `program(client, network)`; `seconds` is how long it took."""

    def __init__(self, counts, program, rate, overlap=True):
        self.seconds, self.rate = 0.0, rate  # bytes a second
        self.events, self.number = [], 0
        self.free = [0.0] * len(counts)  # when each host's link is
        self.computing = set()  # ranks
        super().__init__(counts, 0, lambda client: program(client, self), overlap)
        self.seed = 0

    def compute(self, rank, seconds):
        """Let a worker compute."""
        end = self.seconds + seconds
        self.computing.add(rank)
        self.later(end, lambda: self.computing.discard(rank))
        while rank in self.computing:
            self.workers[rank].hand_over()

    def later(self, when, event):
        self.number += 1
        heapq.heappush(self.events, (when, self.number, event))

    def choices(self):
        """What takes no time."""
        for worker in self.workers:
            if worker.up:
                yield 1.0, lambda w=worker: self.arrive(w)
            awake = worker.rank not in self.computing
            if awake and (worker.can_run or worker.rank in self.woken):
                yield 1.0, lambda w=worker: self.wake(w)
        for number, host in enumerate(self.hosts):
            if host.busy:
                yield 1.0, lambda h=host: self.post(h.work())
            if self.free[number] <= self.seconds:
                for other in host.places.others:
                    if host.outbox.next(other) is not None:
                        yield 1.0, lambda h=number, o=other: self.send(h, o)
                        break

    def wake(self, worker):
        self.woken.discard(worker.rank)
        worker.go_on()

    def send(self, sender, receiver):
        letter = self.hosts[sender].outbox.next(receiver)
        super().send(sender, receiver)
        lane = letter.lane % 2
        self.free[sender] = self.seconds + len(bytes(letter.payload)) / self.rate
        self.later(self.free[sender], lambda: self.deliver(sender, receiver, lane))

    def proceed(self, kill_after, victim):
        """Until all have finished; nobody is killed."""
        self.woken = set()
        while not all(worker.finished for worker in self.workers):
            event = next(iter(self.choices()), None)
            if event is not None:
                event[1]()
                continue
            assert self.events, "deadlock: " + self.describe()
            self.pass_time()

    def pass_time(self):
        computing = set(self.computing)
        self.seconds, _, event = heapq.heappop(self.events)
        event()
        self.woken |= computing - self.computing
