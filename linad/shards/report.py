"""What a sum has done so far, and who did it."""

import dataclasses
from dataclasses import dataclass, field


@dataclass
class Counts:
    """What one process has done for a sum.

    Attributes
    ----------
    shards : int
        Terms computed.
    linearized : int
        Terms whose derivative was made.
    found : int
        Terms whose derivative was still there.
    loaded : int
        Shards made by a function.
    kept_bytes : int
        What is kept now.
    seconds : float
        Time spent.
    """

    shards: int = 0
    linearized: int = 0
    found: int = 0
    loaded: int = 0
    kept_bytes: int = 0
    seconds: float = 0.0

    def copy(self) -> "Counts":
        """A copy that stays as it is."""
        return dataclasses.replace(self)


@dataclass
class Report:
    """What a sum has done: ``print(F.report())``.

    Attributes
    ----------
    calls, tasks : int
        Evaluations of the sum and of its derivatives, and the tasks they were sent out as.
    seconds : float
        Time in which the caller waited for them.
    workers : dict
        The `Counts` of each process, by its machine and number, as it last told.
    latest : float or None
        Seconds that a term took in the last call.
    """

    name: str
    shards: int
    engine: str
    calls: int = 0
    tasks: int = 0
    seconds: float = 0.0
    workers: dict[str, Counts] = field(default_factory=dict)
    latest: float | None = None

    def note(self, told: dict[str, Counts]) -> None:
        """Enter what workers told; the later of two counts of one process holds."""
        terms, seconds = 0, 0.0
        for worker, counts in told.items():
            known = self.workers.get(worker, Counts())
            if counts.shards >= known.shards:
                terms += counts.shards - known.shards
                seconds += counts.seconds - known.seconds
                self.workers[worker] = counts
        if terms:
            self.latest = seconds / terms

    def __str__(self) -> str:
        busy = sum(counts.seconds for counts in self.workers.values())
        lines = [
            f"{self.name}: {self.shards} shards, {self.engine}",
            f"{self.calls} calls, {self.tasks} tasks, {self.seconds:.2f} s; busy {busy:.2f} s",
        ]
        for worker, c in sorted(self.workers.items()):
            lines.append(
                f"  {worker}: {c.shards} terms, {c.linearized} derivatives made and {c.found} "
                f"found, {c.loaded} shards loaded, {c.kept_bytes / 2**20:.1f} MiB kept, "
                f"{c.seconds:.2f} s"
            )
        return "\n".join(lines)
