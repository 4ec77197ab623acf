"""The price of spreading a run: processor seconds, bytes and waiting of each step, and the bounds that follow.

    costs       processor seconds of each piece of work
    cluster     workers, servers, network, how unequal they are
    bounds      rows per second, bytes a row and staleness, by formulas; `simulate.py` plays the same in virtual time

A worker's batch of n rows with z non-zeros and u distinct features, m of which move, goes through

    take → land the last pushes → begin → pull from all servers → learn → enter → push (and take the next meanwhile)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

MEETINGS = 30  # steps towards the number of batches under way
NUMBER = 8  # bytes of a feature's name, and of each number that is kept of it


@dataclass(frozen=True)
class WorkCosts:
    """Processor seconds of each piece of work; what was measured on one machine is in docs/scale.md."""

    take_batch: float = 0.0  # find the features of a batch, with reading its rows
    take_entry: float = 0.0  # and for each of its non-zeros
    take_feature: float = 0.0  # and for each distinct feature
    learn_batch: float = 0.0  # learn a batch on copies
    learn_row: float = 0.0
    learn_entry: float = 0.0
    learn_feature: float = 0.0  # for each distinct feature: lay the copies out, tell what changed
    call: float = 0.0  # a worker's part of a call to another process
    served: float = 0.0  # the other's part
    byte: float = 0.0  # of a message, at either end: written, or read
    stored: float = 0.0  # an array of more than `Cluster.direct` bytes, at either end
    pull: float = 0.0  # a server's work on a pull
    pull_feature: float = 0.0
    push: float = 0.0
    push_feature: float = 0.0
    register: float = 0.0  # the register's work on a call
    register_flight: float = 0.0  # and for each batch under way

    def take(self, entries: float, features: float) -> float:
        """Seconds to take a batch."""
        return self.take_batch + self.take_entry * entries + self.take_feature * features

    def learn(self, rows: float, entries: float, features: float) -> float:
        """Seconds to learn it."""
        return self.learn_batch + self.learn_row * rows + self.learn_entry * entries + self.learn_feature * features

    def pulled(self, features: float) -> float:
        """Seconds of a server for a pull of this many features."""
        return self.served + self.pull + self.pull_feature * features

    def pushed(self, features: float) -> float:
        """Seconds of a server for a push of this many features."""
        return self.served + self.push + self.push_feature * features

    def registered(self, flights: float) -> float:
        """Seconds of the register for a call while this many batches are under way."""
        return self.served + self.register + self.register_flight * flights


@dataclass(frozen=True)
class Cluster:
    """Who works, on what network, and how unequally. Without costs and latency, nothing takes time."""

    workers: int = 1
    servers: int = 1
    staleness: float = math.inf  # rows that a batch may lack
    costs: WorkCosts = field(default_factory=WorkCosts)
    latency: float = 0.0  # seconds that a message is under way, besides its bytes
    bandwidth: float = math.inf  # bytes per second that a node sends, and takes
    envelope: int = 0  # bytes of a message besides its arrays
    direct: int = 100_000  # bytes of the largest array that goes with a message, and not by a store
    cores: int = 0  # that all share; 0: everybody has one
    unequal: float = 0.0  # σ of the logarithm of a worker's slowness, the same for the whole run
    uneven: float = 0.0  # σ of the logarithm of the slowness of a single piece of a worker's work
    stragglers: float = 0.0  # share of workers that are `straggling` times as slow
    straggling: float = 10.0
    pause: tuple[float, float] = (0.0005, 0.005)  # seconds between requests to begin, at first and at most
    glance: float = 0.0  # seconds between looks of a driver that stops all for marks of the history; 0: never
    still: float = 0.0  # seconds that all stand still then

    @property
    def slowness(self) -> float:
        """By how much unequal workers are slower on the average, of speeds and not of times."""
        usual = math.exp((self.unequal**2 + self.uneven**2) / 2)
        return usual / (1 - self.stragglers + self.stragglers / self.straggling)


class BatchShape(NamedTuple):
    """A batch on the average, and what is kept of a feature."""

    rows: float
    entries: float
    features: float  # distinct
    moved: float  # of them, that are pushed
    busiest: float  # features asked of the busiest server, over those of one on the average
    width: int = 5  # numbers that are pulled of a feature; `changed` are pushed
    changed: int = 5
    ledger: int = 200  # bytes of the sums that the register hands out


class RateBounds(NamedTuple):
    """Rows per second that each resource allows, and what a run at the least of them costs."""

    workers: float  # as many batches under way as there are workers, each taking its time
    servers: float
    links: float  # of the busiest server to the network
    register: float
    bound: float  # by the bound on staleness, which is on rows under way
    bytes_per_row: float
    staleness: float  # rows that a row lacks, on the average

    @property
    def rows_per_second(self) -> float:
        return min(self[:5])

    @property
    def bottleneck(self) -> str:
        """The resource that allows least."""
        return min(zip(self[:5], self._fields[:5], strict=True))[1]


def bounds(cluster: Cluster, shape: BatchShape) -> RateBounds:
    """RateBounds on throughput by each resource, with queues left out: exact for one worker, too high by some for more.

    A cycle of a worker is begin + pull + learn + enter + max(take, push), and others enter W − 1 batches in it. So

        throughput ≤ W·n/cycle,  n/(seconds of the busiest server),  n/(seconds of the register),  n/(bytes/bandwidth)
        staleness ≈ (W − 1)·n·(1 − share of the time in which none of the worker's batches is under way)
    """
    flights = 1.0
    found, work = _bounds(cluster, shape, flights)
    for _ in range(MEETINGS):  # batches under way = batches per second × seconds of each, and the register looks at all
        met = min(found.rows_per_second / shape.rows * work, cluster.workers, cluster.staleness / shape.rows + 1)
        flights = (flights + met) / 2
        found, work = _bounds(cluster, shape, flights)
    return found


def _bounds(cluster: Cluster, shape: BatchShape, flights: float) -> tuple[RateBounds, float]:
    """Bounds with this many batches under way, and for how long each is."""
    c, servers, each = cluster.costs, cluster.servers, shape.busiest / cluster.servers
    asked, answered = NUMBER * shape.features, NUMBER * shape.width * shape.features
    told, envelope = NUMBER * (1 + shape.changed) * shape.moved, 2 * cluster.envelope
    slow, own = cluster.slowness, c.learn(shape.rows, shape.entries, shape.features)

    def stored(*arrays: float) -> float:
        """Seconds at either end for those that are too large to go with a message."""
        return c.stored * sum(array > cluster.direct for array in arrays)

    def trip(calls: int, sent: float, seconds: float, store: float = 0.0) -> float:
        """Seconds of some calls at once, each of these bytes and seconds of a server: link to link, there and back."""
        wire, mine = 2 * sent / cluster.bandwidth, calls * (c.call + c.byte * sent + store)
        return mine + 2 * cluster.latency + wire + seconds + c.byte * sent + store

    desk = c.registered(flights) + c.byte * (shape.ledger + envelope)
    names, kept = NUMBER * shape.moved * each, NUMBER * (shape.changed - 2) * shape.moved * each
    large = stored(asked * each, answered * each), stored(names, kept, names, names)
    pull = trip(servers, (asked + answered) * each + envelope, c.pulled(shape.features * each), large[0])
    push = trip(servers, told * each + envelope, c.pushed(shape.moved * each), large[1])
    talk = sum(trip(1, parts * shape.ledger + envelope, c.registered(flights)) for parts in (1, 2))  # begin, enter
    work = pull + slow * own + talk
    cycle = work + max(slow * c.take(shape.entries, shape.features), push)
    traffic = (asked + answered + told) * each + 2 * envelope
    serving = c.pulled(shape.features * each) + c.pushed(shape.moved * each) + c.byte * traffic + sum(large)
    sending = max(asked + told, answered) * each + 2 * cluster.envelope
    moved = asked + answered + told + 3 * shape.ledger + (2 * servers + 2) * envelope
    found = RateBounds(
        workers=cluster.workers * shape.rows / cycle,
        servers=shape.rows / serving if serving else math.inf,
        links=shape.rows / (sending / cluster.bandwidth) if cluster.bandwidth < math.inf else math.inf,
        register=shape.rows / (2 * desk) if desk else math.inf,
        bound=(cluster.staleness + shape.rows) / (work + push),
        bytes_per_row=moved / shape.rows,
        staleness=0.0,
    )
    alone = max(cycle - work - push, 0.0) * found.rows_per_second / (cluster.workers * shape.rows)
    lacking = (cluster.workers - 1) * shape.rows * (1 - alone)
    return found._replace(staleness=min(lacking, cluster.staleness)), work
