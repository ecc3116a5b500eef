"""What a program does, in words: kernels, memory, what runs in NumPy, what is checked."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core.tape import Equation, Source, Tape, guards_in, type_of
from linad.sweeps.instructions import Fallback, GridCall, KernelCall, all_of
from linad.sweeps.lower import Lowering
from linad.sweeps.program import SweepProgram, simplified
from linad.sweeps.target import Target
from linad.sweeps.tiles import Tiles

SHOWN = 40
"""Most steps that a report lists; of longer programs it shows the beginning and the end."""

WIDTH = 44


class Step:
    """One step of a program: a kernel at work, or a call of NumPy.

    Attributes
    ----------
    name : str
        Of what runs: the kernel's label, or the primitive's name.
    in_numpy : bool
        Whether NumPy computes it.
    in_library : bool
        Whether a library of CUDA's does.
    primitives : list of str
        What it computes; several for a loop that does them in one pass.
    bytes : int
        Estimate of what it reads and writes.
    source : Source or None
        The user's line, of the first primitive that has one.
    inner : list of Step
        The steps of each tile, where it runs some rows at a time, or of programs that it repeats.
    repeats : bool
        Whether it is a loop or a choice between programs.
    """

    def __init__(self, instruction: KernelCall | Fallback) -> None:
        self.inner = [Step(i) for i in _inside(instruction)]
        self.repeats = bool(instruction.programs)
        self.in_numpy = isinstance(instruction, Fallback)
        self.in_library = hasattr(instruction, "routine")
        self.primitives = [eqn.primitive.name for eqn in instruction.equations]
        self.name = instruction.label
        self.bytes = instruction.moved_bytes()
        sources = [eqn.source for eqn in instruction.equations if eqn.source is not None]
        self.source: Source | None = sources[0] if sources else None


class Report:
    """A program, described; ``print`` it.

    Attributes
    ----------
    name : str
    target : str
        What it is for: "CPU", "CUDA".
    steps : list of Step
        What a call runs, in order.
    kernels : int
        Different kernels among them.
    sources : list of str
        Of the kernel of each step that has one.
    fallbacks : list of Step
        The steps that run in NumPy. A program for CUDA that has any runs only with
        ``linad.config(device_fallback=True)``.
    library_calls : list of Step
        The steps that call cuBLAS, cuSOLVER or cuFFT.
    round_trip_bytes : int
        What of a program for CUDA goes to the host and back for NumPy's steps.
    guards : list of Equation
        Decisions of Python that each call checks.
    inputs, outputs : list of str
        Dtypes and shapes.
    arena_bytes, constant_bytes, moved_bytes : int
        Scratch memory of a workspace, arrays that the program holds, and an estimate of what
        a call reads and writes.
    seconds : float
        What compiling took; zero where only the plan was made.
    compiled, loaded : int
        Kernels that were compiled for it, and that were found on disk.
    derivatives : list of Report
        Programs that were made to differentiate it.
    """

    def __init__(
        self,
        lowering: Lowering,
        name: str,
        derivatives: Sequence["Report"] = (),
        program: SweepProgram | None = None,
    ) -> None:
        self._target, self.target = lowering.target, lowering.target.name
        every = list(all_of(lowering.instructions))
        kernels = [i for i in every if isinstance(i, KernelCall)]
        self.name, self.derivatives = name, list(derivatives)
        self.steps = [Step(i) for i in lowering.instructions]
        self.sources = [i.source for i in kernels]
        users = {i.key: i for i in every if isinstance(i, GridCall)}
        self._users = list(users.values())
        self.kernels = len({(i.source, i.fast) for i in kernels}) + len(users)
        self.fallbacks = [s for s in self.steps if s.in_numpy]
        self.library_calls = [s for s in self.steps if s.in_library]
        trips = self.fallbacks if lowering.target.is_grid else []
        self.round_trip_bytes = sum([s.bytes for s in trips])
        self.fallbacks = [Step(i) for i in every if isinstance(i, Fallback)]
        self._cubins: list[Any] = []
        self.guards: list[Equation] = list(guards_in(lowering.tape.equations))
        self.inputs = [type_of(p) for p in lowering.inputs]
        self.outputs = [type_of(p) for p in lowering.outputs]
        self.arena_bytes = lowering.arena_size
        constants = {id(b): b.size for i in every for b in i.buffers if b.kind == "constant"}
        self.constant_bytes = sum(constants.values())
        self.moved_bytes = sum([s.bytes for s in self.steps])
        self.seconds, self.compiled, self.loaded = 0.0, 0, 0
        if program is not None:
            self.seconds = program.seconds
            self.compiled, self.loaded = program.compiled, program.loaded

    def ptx(self) -> list[str]:
        """The kernels of a program for CUDA as PTX, for compute capability 9.0; needs no GPU.

        Raises
        ------
        FallbackError
            If the program is for another target.
        ImportError
            If numba-cuda is not installed: ``pip install linad[cuda]``.
        """
        return [self._target.ptx_of(made) for made in self._made()]

    def _made(self) -> list[Any]:
        """What there is to compile: sources of linad's kernels, and calls of users'."""
        return [*dict.fromkeys(self.sources), *self._users]

    def cubins(self) -> list[Any]:
        """The kernels of a program for CUDA as machine code; needs no GPU.

        Returns
        -------
        list
            For each kernel its ``code``, how many ``registers`` and how many bytes of ``stack`` a
            thread has, and how many are ``spilled`` where there are not registers enough.

        Raises
        ------
        FallbackError, ImportError
            As for `ptx`.
        """
        self._cubins = [self._target.cubin_of(made) for made in self._made()]
        return self._cubins

    def __str__(self) -> str:
        given, made = ", ".join(self.inputs), ", ".join(self.outputs)
        steps, kernels = _count(len(self.steps), "step"), _count(self.kernels, "kernel")
        in_numpy = f"{len(self.fallbacks)} in NumPy" if self.fallbacks else "none in NumPy"
        compiled = _count(self.compiled, "kernel")
        scratch, constants = _bytes(self.arena_bytes), _bytes(self.constant_bytes)
        lines = [
            f"{self.name}({given}) -> {made or 'nothing'}",
            "",
            f"  {steps} a call, {kernels}; {in_numpy}",
            f"  made in {1e3 * self.seconds:.0f} ms: {compiled} compiled, {self.loaded} from disk"
            if self.seconds
            else f"  planned for {self.target}; not compiled, and not run",
            f"  memory: {scratch} of scratch, {constants} of constants",
            f"  a call reads and writes about {_bytes(self.moved_bytes)}",
            "",
        ]
        if self.library_calls:
            lines.insert(3, f"  {_count(len(self.library_calls), 'call')} of CUDA's libraries")
        lines += self._table()
        lines += self._notes()
        for report in self.derivatives:
            lines += ["", "differentiated by", *["  " + t for t in str(report).splitlines()]]
        return "\n".join(lines)

    __repr__ = __str__

    def _table(self) -> list[str]:
        lines = [f"  {'step':>4}  {'memory':>9}  what it computes"]
        count = len(self.steps)
        for k, step in enumerate(self.steps):
            if count > SHOWN and SHOWN // 2 <= k < count - SHOWN // 2:
                if k == SHOWN // 2:
                    lines.append(f"   ...  {count - SHOWN} more steps")
                continue
            text = "NumPy: " + step.name if step.in_numpy else _title_of(step)
            place = f"  # {step.source}" if step.source is not None else ""
            lines.append(f"  {k + 1:>4}  {_bytes(step.bytes):>9}  {text:<{WIDTH}}{place}".rstrip())
            where = "each" if step.repeats else "in cache"
            for inner in step.inner[:SHOWN]:
                lines.append(f"        {where:>9}    {_title_of(inner)}")
            if len(step.inner) > SHOWN:
                lines.append(f"        {'':>9}    {len(step.inner) - SHOWN} more steps")
        return lines

    def _notes(self) -> list[str]:
        lines = []
        if self.round_trip_bytes:
            lines += ["", f"goes to the host and back: {_bytes(self.round_trip_bytes)} a call"]
        if self.fallbacks:
            lines += ["", "in NumPy, because there is no kernel for these dtypes and shapes"]
            for name in dict.fromkeys(s.name for s in self.fallbacks):
                places = dict.fromkeys(str(s.source) for s in self.fallbacks if s.name == name)
                lines.append(f"  {name}: {'; '.join(places)}")
        if self._cubins:
            most = max([c.registers for c in self._cubins])
            spilled = sum([c.spilled for c in self._cubins])
            lines += ["", f"a thread has at most {most} registers, and spills {_bytes(spilled)}"]
        if self.guards:
            lines += ["", "checked at each call; where it differs, another program is made"]
            for eqn in self.guards:
                expected = np.asarray(eqn.params["expected"])
                shown = expected.item() if expected.size == 1 else f"{expected.size} values"
                lines.append(f"  was {shown}: {eqn.source}")
        return lines


def _title_of(step: Step) -> str:
    """A fused loop names its primitives; another kernel says what it is."""
    text = step.name
    if step.inner:
        return text
    if len(text) > WIDTH:
        names = text.split()
        text = f"{' '.join(names[:3])} ... {names[-1]} ({len(names)} in one loop)"
    elif len(step.primitives) == 1 and step.primitives[0] != text:
        text = f"{text} (of {step.primitives[0]})"
    return text


def _inside(instruction: Any) -> list[Any]:
    """The instructions of a tile, or of the programs that a loop runs."""
    if instruction.programs:
        return [i for program in instruction.programs for i in program.instructions]
    made = instruction.equations[0].primitive if instruction.equations else None
    if not isinstance(made, Tiles) or instruction.label == "copy":
        return []
    return list(made.programs[0].lowering.instructions)


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def _bytes(n: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n} B"


def report_of(compiled: Any, name: str) -> Report:
    """Describe a `linad.sweeps.compiled.Compiled`, and what was made to differentiate it."""
    programs: dict[int, SweepProgram] = {}
    for derived in compiled.programs():
        programs.setdefault(id(derived.program), derived.program)
    derivatives = [_of_program(p, p.tape.name) for p in programs.values()]
    return _of_program(compiled.program, name, derivatives)


def _of_program(program: SweepProgram, name: str, derivatives: Sequence[Report] = ()) -> Report:
    program.give_back(program.borrow())
    return Report(program.lowering, name, derivatives, program)


def plan_of(tape: Tape, target: Target, name: str) -> Report:
    """Describe the program that a tape would be for a target, without compiling anything."""
    return Report(Lowering(simplified(tape), target), name)
