"""The kernels of a program: what is missing is compiled on the cores that there are.

LLVM is called under one lock of llvmlite's, so threads would take turns. Where a program needs many
new kernels, processes beside this one compile some of them into the folder of kernels, from where
this one loads them. A process takes two seconds until it compiles its first kernel, in which this
one compiles fifty, and then as many as this one does. It gets its work one kernel at a time, so
one that starts late, or fails, holds nothing up: what it has not compiled this process compiles
itself.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from linad.core.patience import Patience, say
from linad.core.settings import settings
from linad.sweeps.cpu import kernel_cache as cache
from linad.sweeps.cpu.object_code import Loaded

Wanted = tuple[str, bool]
"""Source, and whether arithmetic may be reordered."""

MANY = 60
"""New kernels from which another process is worth its start; and for each one more."""

AGAIN = 15.0
"""Seconds until the next line at the earliest."""

BETWEEN = 2.0
"""Seconds without compiling, after which it is another wait."""

ENOUGH = 10
"""Compiled kernels that tell how long others take, no more than these: they are of unlike size."""

LONGEST = 60.0
"""Seconds that are waited for a kernel of another process."""


def addresses_of(wanted: Sequence[Wanted], name: str) -> list[Loaded]:
    """The addresses of kernels, compiled or found; they stay in memory as long as these objects.

    Parameters
    ----------
    wanted : sequence of (source, fast)
        As `linad.sweeps.cpu.kernel_cache.kernel` takes them.
    name : str
        Of the program, for what is printed.
    """
    missing = [w for w in dict.fromkeys(wanted) if not cache.is_known(*w)]
    said = Announcement(name, len(missing))
    shared: deque[Wanted] = deque(missing)
    helpers = _started(missing, shared)
    made = []  # more than the cache keeps, perhaps
    try:
        while shared:
            try:
                next_one = shared.popleft()
            except IndexError:  # a helper was faster
                break
            made.append(cache.kernel(*next_one))
            said.after(len(missing) - len(shared))
        elsewhere = [w for helper in helpers for w in helper.finish()]
    finally:
        for helper in helpers:
            helper.stop()
    loaded = cache.counts.loaded
    addresses = [cache.kernel(*w) for w in wanted]
    beside = min(len(elsewhere), cache.counts.loaded - loaded)
    cache.counts.loaded -= beside  # they have been compiled for this program all the same
    cache.counts.compiled += beside
    said.finish()
    return addresses


class Announcement:
    """Says that compiling takes longer than one waits in silence, and seldom again.

    A call may need several programs, one after the other. They are one wait to the caller: its
    seconds are those of compiling them all, without what was done in between.
    """

    patience = Patience()
    ended = float("-inf")
    programs = compiled = 0

    def __init__(self, name: str, count: int) -> None:
        self.name, self.count = name, count
        self.done, self.told = 0, False
        if not count:
            return
        since = time.perf_counter() - Announcement.ended
        if since > BETWEEN:
            Announcement.patience = Patience()
            Announcement.programs = Announcement.compiled = 0
        else:
            Announcement.patience.started += since
        Announcement.programs += 1

    def after(self, done: int) -> None:
        """Take note of kernels that are compiled, or being compiled."""
        Announcement.ended = time.perf_counter()
        Announcement.compiled += done - self.done  # other processes' too
        self.done = done
        seconds = Announcement.patience.spent()
        if seconds is None or done == self.count:
            return
        folder = cache.folder()
        kept = "" if folder is None else f"; they are kept in {folder} for the next time"
        self.told = True
        left = self.count - done
        known = Announcement.compiled >= max(ENOUGH, left)
        rest = seconds / Announcement.compiled * left
        to_go = f", about {max(rest, 1):.0f} s to go" if known else ""
        nth = f" (program {self.programs})" if self.programs > 1 else ""
        Announcement.patience.say(
            f"compiling for {seconds:.0f} s: {self.name}{nth}, {done} of {self.count} kernels"
            f"{to_go}{kept}"
        )
        Announcement.patience.again(max(AGAIN, 4 * seconds))

    def finish(self) -> None:
        """Say how long it took, where it has been said that it takes long."""
        if self.told:
            seconds = time.perf_counter() - Announcement.patience.started
            more = self.programs - 1
            others = f" and {more} program{'s' * (more > 1)} before it" if more else ""
            say(f"compiled {self.name}{others} in {seconds:.0f} s, {self.compiled} kernels")


def _started(missing: list[Wanted], shared: "deque[Wanted]") -> list["Helper"]:
    """Processes that share in the work, if there is enough of it, and cores and a folder."""
    most = min(settings().compilers, idle_cores(), len(missing) // MANY)
    folder = cache.folder() if most > 0 and runs_python(sys.executable) else None
    if folder is None:
        return []
    helpers = []
    with suppress(OSError):  # no more processes: this one compiles
        for _ in range(most):
            helpers.append(Helper(shared, folder))
    return helpers


def idle_cores() -> int:
    """How many cores nobody uses, as far as is known: not this process, and no other."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    busy = round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 1
    return cores - max(1, busy)


def runs_python(executable: str | None) -> bool:
    """Whether a program is Python, and not one that has it inside."""
    name = Path(executable or "").name.lower()
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)


class Helper:
    """A process that compiles, and the thread that hands it one kernel after the other.

    Parameters
    ----------
    shared : deque
        Kernels to compile; the helper takes from the right.
    folder : Path
        Where they are kept.
    """

    def __init__(self, shared: "deque[Wanted]", folder: Path) -> None:
        self.shared = shared
        self.done: list[Wanted] = []
        given = {
            "PYTHONPATH": os.pathsep.join([p or str(Path.cwd()) for p in sys.path]),
            "LINAD_CACHE_DIR": str(folder),
            "LINAD_CACHE": "1",
            "LINAD_CACHE_BYTES": str(settings().cache_bytes),
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | given,
            text=True,
            encoding="utf-8",
        )
        self.ready = False
        self.thread = threading.Thread(target=self._feed, daemon=True)
        self.thread.start()

    def _feed(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        # It has ended, or was stopped; or nothing is left to do.
        with suppress(OSError, ValueError, IndexError):
            while self.process.stdout.readline():
                self.ready = True
                kernel = self.shared.pop()
                self.process.stdin.write(json.dumps(kernel) + "\n")
                self.process.stdin.flush()
                self.done.append(kernel)

    def finish(self) -> list[Wanted]:
        """Wait until it has compiled what it has begun; return what it was given."""
        if self.ready:
            self.thread.join(LONGEST)
        return self.done

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        self.thread.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def serve() -> None:
    """What a helper runs: compile the kernels whose sources it reads, a line for each."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed is not an answer
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        source, fast = json.loads(line)
        cache.kernel(source, fast)
        answers.write("done\n")
        answers.flush()
