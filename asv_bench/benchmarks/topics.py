"""What every topic measures of its workloads: times, and ratios in one process.

A benchmark file names its topic and inherits these; asv leaves abstract classes alone.
"""

from abc import ABC, abstractmethod

from . import quartiles_of_ratio, ratio
from .workloads import FAMILIES, TASKS, WORKLOADS
from .workloads.peers import PEERS, prepared

SEPARATOR = " / "


def cases(topic, all_tasks=True):
    """Names of workload and task: ``"sum_1000 / gradient"``.

    Programs that take long to compile are measured at the table's tasks only.
    """
    return [
        f"{w.name}{SEPARATOR}{task}"
        for w in WORKLOADS.values()
        if w.topic == topic
        for task in (TASKS if all_tasks and not w.long else w.tasks)
        if w.allows(task)
    ]


class Topic(ABC):
    """A case, ready to run: ``self.inputs``, ``self.eager``, ``self.compiled``, ``self.value``."""

    timeout = 600
    all_tasks = True
    more = ()

    @property
    @abstractmethod
    def topic(self):
        """Of which workloads."""

    def __init_subclass__(cls):
        if isinstance(cls.topic, str):
            cls.params = [cases(cls.topic, cls.all_tasks), *[p for _, p in cls.more]]
            cls.param_names = ["case", *[name for name, _ in cls.more]]

    def setup(self, case, *_):
        name, self.task = case.split(SEPARATOR)
        self.workload = WORKLOADS[name]
        self.inputs = self.workload.inputs(self.task)
        self.eager = self.workload.eager(self.task)
        self.jitted = self.workload.compiled(self.task)
        self.arguments = self.workload.inputs("value")

    def compile(self):
        """Two calls: the first records, the second compiles."""
        for _ in range(2):
            self.jitted(*self.inputs)

    def compiled(self):
        return self.jitted(*self.inputs)

    def value(self):
        return self.workload.function(*self.arguments)


class Times(Topic):
    """Each task, eager and compiled."""

    more = (("mode", ["eager", "compiled"]),)

    def setup(self, case, mode):
        super().setup(case)
        if mode == "compiled":
            self.compile()
        self.run = self.jitted if mode == "compiled" else self.eager

    def time_call(self, case, mode):
        self.run(*self.inputs)


class Ratios(Topic):
    """Each task over the function in NumPy and over what was written by hand."""

    def setup(self, case):
        super().setup(case)
        self.compile()

    def track_compiled_over_value(self, case):
        return ratio(self.compiled, self.value)

    def track_eager_over_value(self, case):
        return ratio(lambda: self.eager(*self.inputs), self.value)

    def track_compiled_over_by_hand(self, case):
        """The limit; wanted: 1.25 or less."""
        rtol = 1e-3 if "float32" in self.workload.name else 1e-8
        by_hand = self.workload.written_by_hand(self.task, self.compiled(), rtol)
        return float("nan") if by_hand is None else quartiles_of_ratio(self.compiled, by_hand)[0][1]

    track_compiled_over_value.unit = "ratio"
    track_eager_over_value.unit = "ratio"
    track_compiled_over_by_hand.unit = "ratio"


class OverSizes(ABC):
    """Each task of each family, eager and compiled, as the size grows: asv plots a line each."""

    timeout = 600
    param_names = ["size", "case", "mode"]

    @property
    @abstractmethod
    def topic(self):
        """Of which families."""

    def __init_subclass__(cls):
        families = [f for f in FAMILIES.values() if f.topic == cls.topic]
        sizes = sorted({n for f in families for n in f.sizes})
        named = [
            f"{f.name}{SEPARATOR}{task}"
            for f in families
            for task in TASKS
            if f.of_size(f.sizes[0]).allows(task)
        ]
        cls.params = [sizes, named, ["eager", "compiled"]]

    def setup(self, size, case, mode):
        name, task = case.split(SEPARATOR)
        family = FAMILIES[name]
        if size not in family.sizes:
            raise NotImplementedError("not a size of this family")
        workload = family.of_size(size)
        self.inputs, self.arguments = workload.inputs(task), workload.inputs("value")
        self.value = workload.function
        self.run = workload.compiled(task) if mode == "compiled" else workload.eager(task)
        if mode == "compiled":
            for _ in range(2):
                self.run(*self.inputs)

    def time_call(self, size, case, mode):
        self.run(*self.inputs)

    def track_over_value(self, size, case, mode):
        return ratio(lambda: self.run(*self.inputs), lambda: self.value(*self.arguments))

    track_over_value.unit = "ratio"


class AgainstPeers(Topic):
    """The compiled task over the same in another library; wanted: below 1."""

    all_tasks = False
    more = (("peer", list(PEERS)),)

    def setup(self, case, peer):
        super().setup(case)
        self.theirs = prepared(peer, self.workload, self.task)
        if self.theirs is None:
            raise NotImplementedError(f"{peer} is not installed, or left out here")
        self.compile()

    def track_compiled_over_peer(self, case, peer):
        return ratio(self.compiled, self.theirs)

    track_compiled_over_peer.unit = "ratio"


def measured(topic):
    """`Times`, `Ratios`, `AgainstPeers` and `OverSizes` of a topic."""
    classes = Times, Ratios, AgainstPeers, OverSizes
    return [type(c.__name__, (c,), {"topic": topic, "__doc__": c.__doc__}) for c in classes]
