"""Sizes at which linad takes another way, drawn small: so that small programs go every way.

A loop is cut into pieces from some length on, rolled from some number of repetitions, held in
registers up to some number of entries. Random programs have small arrays and short loops, and
would meet one side of each. What is computed may not depend on any of these numbers, but for
rounding.
"""

import ast
import contextlib
import functools
import importlib
import sys
from collections import defaultdict
from pathlib import Path
from unittest import mock

import numpy as np

LIMITS = {
    "linad.control.closures": {"SMALL": (0, 8, 64)},
    "linad.control.loops_of_loops": {"LOOP_BYTES": (0, 64, 1024)},
    "linad.control.memory_arrays": {"ENTRIES": (1, 2, 8)},
    "linad.control.nested": {"UNROLLED": (1, 3)},
    "linad.control.one_ahead": {"FEWEST_AHEAD": (1, 2), "FEWEST_BEHIND": (1, 4)},
    "linad.control.patterns": {"LARGEST": (4, 64), "LONGEST": (1, 4)},
    "linad.control.registers": {"STATEMENTS": (4, 20, 60)},
    "linad.control.rolling": {"LEAST_EQUATIONS": (4, 10, 30), "MOST_PERIODS": (2, 8)},
    "linad.control.watching": {"LEAST_SEEN": (8, 20, 60), "AFTER_FAILURE": (1, 4)},
    "linad.control.whiles": {
        "LOOP_BYTES": (64, 512),
        "SEGMENT": (1, 3),
        "LEAP": (2, 3),
        "MOST_ROWS": (1, 3),
        "MOST_BYTES": (8, 64),
    },
    "linad.control.whole_rows": {"MOST_NUMBERS": (4, 64), "MOST_BYTES": (64, 1024)},
    "linad.jit.outside_walk": {"LONG": (1, 4)},
    "linad.jit.static_values": {"SMALL": (0, 16)},
    "linad.operators.facts": {"WORK": (8, 256), "SMALL": (1, 2)},
    "linad.operators.factors": {"FEW": (1, 2)},
    "linad.operators.matrices": {"SMALL": (1, 2)},
    "linad.operators.dependency_sets": {"FEW": (1, 2), "FULL": (1, 8)},
    "linad.linalg.sparsity.assemble": {"FEW": (1, 2)},
    "linad.linalg.sparsity.replay": {"LARGEST": (1, 64)},
    "linad.sweeps.cpu.convolution_routines": {"BLOCK": (1, 4), "FEW": (0, 2)},
    "linad.sweeps.cpu.factor_derivatives": {"LEAF": (1, 2), "COLUMNS": (1, 2)},
    "linad.sweeps.cpu.matrix_products": {
        "SMALL": (0, 1000),
        "SMALL_VECTOR": (0, 1000),
        "SYMMETRIC": (1, 3),
    },
    "linad.sweeps.cpu.merge_sort": {"LONGEST": (0, 4)},
    "linad.sweeps.cpu.range_guards": {"BLOCK": (2, 8)},
    "linad.sweeps.cpu.serial_loops": {
        "BLOCK": (2, 8),
        "PIECE": (2, 8),
        "SHORT": (0, 2, 8),
        "SHORT_TEXT": (4, 500),
    },
    "linad.sweeps.cpu.threads": {"PIECE_WORK": (2, 64)},
    "linad.sweeps.cpu.tile_programs": {"LARGE": (0, 256), "UNIT": (1, 2), "TILE_BYTES": (16, 256)},
    "linad.sweeps.cosine_forms": {"LARGEST": (0, 64)},
    "linad.sweeps.data_movement": {"LARGE": (1, 8), "SMALL": (0, 2), "COMPARED": (1, 4)},
    "linad.sweeps.loop_source": {"OUTPUTS": (1, 2), "INNERMOST": (1, 2)},
    "linad.sweeps.places": {"NARROW": (1, 2)},
    "linad.sweeps.plan": {
        "STATEMENTS": (2, 5, 12),
        "NUMBERS": (3, 12),
        "CHEAP": (0, 1, 50),
        "TINY": (1, 64),
        "RARE": (0, 1),
        "LONG": (1, 4),
    },
    "linad.transforms.fold": {"MOST_PARTS": (1, 4)},
    "linad.transforms.outer_sums": {"WORTH": (1,)},
    "linad.transforms.plain_operands": {"_TINY": (0, 8), "_STRIDE": (1, 3)},
    "linad.transforms.shifted_sums": {"WORTHWHILE": (1, 4), "MOST_PARTS": (2,), "DEPTH": (1, 3)},
    "linad.transforms.simplify": {"FOLDED_BYTES": (0, 16, 64)},
    "linad.transforms.small_arrays": {"MOST": (1, 4), "FAR": (1, 4)},
    "linad.transforms.sums_in_pieces": {"ENDS": (1, 3), "DEPTH": (1, 3)},
}
"""What each may be, beside what it is."""

SHARE = 0.3
"""Of the limits, those that a program meets with another value."""


@functools.cache
def importers():
    """Who imports what inside of linad: ``{(module, name): [(importer, name there), ...]}``."""
    found = defaultdict(list)
    for key, other in list(sys.modules.items()):
        if key.startswith("linad."):
            for node in ast.parse(Path(other.__file__).read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ImportFrom):
                    for alias in node.names:
                        found[node.module, alias.name].append((other, alias.asname or alias.name))
    return found


def holders(module, name):
    """Where linad looks a constant up: its own module, and those that import it; each a name."""
    return [(importlib.import_module(module), name), *importers()[module, name]]


def drawn(seed):
    """Some limits and values for them: ``{(module, name): value}``."""
    rng = np.random.default_rng([seed, 1])
    every = [(m, name, values) for m, table in LIMITS.items() for name, values in table.items()]
    chosen = [entry for entry in every if rng.random() < SHARE]
    return {(m, name): values[rng.integers(len(values))] for m, name, values in chosen}


@contextlib.contextmanager
def changed(limits):
    """Let linad have these limits."""
    with contextlib.ExitStack() as stack:
        for (module, name), value in limits.items():
            for holder, known_as in holders(module, name):
                stack.enter_context(mock.patch.object(holder, known_as, value))
        yield
