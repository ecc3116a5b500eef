"""Modules under the names they had before linad had rooms: what old pickles ask for.

``linad.tape`` and ``linad.core.tape`` are one module; no code of linad's uses the old name.
"""

import importlib
import pickle
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

FORMER = {
    ("linad", "linad.core"): (
        "shapes tree vectors config=settings garbage=collection_pause kept=machine_code "
        "primitive tape dispatch ufuncs=ufunc_keywords regions"
    ),
    ("linad.rules", "linad.core"): ("indices"),
    ("linad", "linad.arrays"): (
        "tracer tracing=traces arithmetic=python_operators methods memory buffers "
        "flat=flat_iterator outputs=out_argument"
    ),
    ("linad.operators", "linad.operators"): (
        "regions=region_writes filters=filtering fourier=dft joining=placement "
        "cumulative=recurrences contractions=contraction "
        "identities=structural_rewrites questions=properties solve=system_matrix "
        "sparse_forms=sparse_properties patterns=relation_shapes blocksolve=block_substitution"
    ),
    ("linad.operators", "linad.linalg"): ("structure estimates probing krylov=iterative_inverses"),
    ("linad", "linad.linalg"): ("answers=operator_answers systems=linear_systems"),
    ("linad.transforms.sparsity", "linad.linalg.sparsity"): (
        "assemble colouring compress instructions=value_programs kernels=graph_kernels "
        "picture products=sparse_products reach replay structure=pattern_keys"
    ),
    ("linad.transforms", "linad.linalg.sparsity"): ("sparse=operator_forms"),
    ("linad.transforms", "linad.transforms"): (
        "entries=small_arrays identities=array_identities operands=plain_operands "
        "slots=spaces statistics=sums_of_terms windows=shifted_sums"
    ),
    ("linad.sweeps", "linad.sweeps"): (
        "templates=loop_templates reductions=loop_reductions fused=fused_operators "
        "scalars=scalar_rows loops=loop_source calls=data_movement lanes=along_axis"
    ),
    ("linad.sweeps", "linad.sweeps.cpu"): (
        "engine native threads atomic vecmath=vector_math library=blas_lapack "
        "special=special_functions cache=kernel_cache callable=njit_function "
        "short=short_calls own=user_functions "
        "products=matrix_products systems=linear_routines "
        "symmetric=symmetric_systems complexes=complex_numbers numbers=number_pairs"
    ),
    ("linad", "linad.jit"): (
        "arguments=signature static=static_values variants=specializations draws=random_draws"
    ),
    ("linad", "linad.sweeps"): ("interpreted=numpy_target"),
    ("linad", "linad.api"): (
        "calls=differentiated_call derivatives gradients custom=custom_primitives "
        "overwriting=overwriting_primitives inspection sparse_derivatives"
    ),
    ("linad.scipy", "linad.scipy"): ("matrices=matrix_functions"),
    ("linad.solve", "linad.solve"): (
        "sinks=scipy_arguments systems=step_systems krylov=newton_krylov"
    ),
    ("linad.export", "linad.export"): ("templates=numpy_forms"),
    ("linad", "linad.testing"): ("agreement"),
    ("linad.sparsity", "linad.linalg.sparsity"): (
        "assemble colouring compiled_steps compress forms=operator_forms graph_kernels "
        "operator_forms pattern_keys picture reach replay sparse_products value_programs"
    ),
    ("linad.interop", "linad.interop"): ("programs=flat_programs"),
    ("linad.kernels", "linad.kernels"): (
        "arrays=array_windows lengths=varying_lengths source=function_source"
    ),
    ("linad", "linad.command"): ("cli demo terminal loading checks"),
}
"""Names by where they were and where they are; ``old=new`` where the name changed as well."""


CLASSES = {
    "linad.operators.composites": {
        "Typed": "linad.operators.wrappers",
        "Adjoint": "linad.operators.wrappers",
        "Transpose": "linad.operators.wrappers",
        "Scaled": "linad.operators.wrappers",
        "Reshaped": "linad.operators.wrappers",
        "Extended": "linad.operators.wrappers",
    },
    "linad.operators.structured": {
        "Broadcast": "linad.operators.reordering",
        "Reshape": "linad.operators.reordering",
        "Permutation": "linad.operators.reordering",
        "Kronecker": "linad.operators.matrices",
        "Matrix": "linad.operators.matrices",
        "RowProducts": "linad.operators.matrices",
        "Contraction": "linad.operators.contraction",
    },
    "linad.operators.matrices": {"SystemMatrix": "linad.operators.system_matrix"},
    "linad.operators.filtering": {
        "GridConvolution": "linad.operators.convolution:Convolution",
        "GridKernel": "linad.operators.convolution:ValidKernel",
    },
    "linad.operators.system_matrix": {
        "Matrix": "linad.operators.system_matrix:SystemMatrix",
        "Solve": "linad.operators.matrices",
    },
    "linad.transforms.linearize": {"Entry": "linad.transforms.tuple_entries"},
    "linad.transforms.tape_operator": {"_Flat": "linad.transforms.flat_vectors:FlatVectors"},
    "linad.rules.rearranging": {"Windows": "linad.rules.rearranging:SlidingWindows"},
    "linad.rules.spectral": {"SingularDerivative": "linad.rules.singularvalues"},
    "linad.operators.dft": {"Fit": "linad.operators.dft:CropOrPad"},
    "linad.solve.problems": {
        "Objective": "linad.solve.objectives",
        "_Hessian": "linad.solve.objectives",
    },
    "linad.solve.solutions": {
        "minimum": "linad.solve.minimal_solutions",
        "least_squares": "linad.solve.minimal_solutions",
    },
    "linad.solve.implicit": {
        "Equation": "linad.solve.implicit:ImplicitEquation",
        "Form": "linad.solve.vector_forms:VectorForm",
    },
}
"""Classes and functions that have left a module which keeps its name, by where they are;
``module:new`` where the name changed."""


def class_from(module: str, name: str) -> Any:
    """What a module once had under a name; for its ``__getattr__``."""
    if name not in CLASSES[module]:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    where, _, new = CLASSES[module][name].partition(":")
    return getattr(importlib.import_module(where), new or name)


def unreadable(what: str) -> pickle.UnpicklingError:
    """The error for what an earlier revision wrote and nothing can be made of."""
    return pickle.UnpicklingError(
        f"{what} was pickled by an earlier revision of linad, whose form this one cannot read: "
        f"make it anew, and pickle that"
    )


def _table() -> dict[str, str]:
    found = {}
    for (before, room), names in FORMER.items():
        for name in names.split():
            old, _, new = name.partition("=")
            found[f"{before}.{old}"] = f"{room}.{new or old}"
    found["linad.transforms.sparsity"] = found["linad.sparsity"] = "linad.linalg.sparsity"
    return found


TABLE = _table()


class FormerNames(MetaPathFinder, Loader):
    """Finds a module under its former name: the module itself, not a second copy."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in TABLE else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(TABLE[spec.name])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        module.__spec__ = spec.loader_state


def install(public: set[str]) -> None:
    """Let modules be found under their former names.

    Parameters
    ----------
    public : set of str
        Names of functions of ``linad``. Importing a module sets its name in the package, so
        modules that had such a name are entered as imported.
    """
    # First, so that a former package is not searched for second copies of its modules.
    sys.meta_path.insert(0, FormerNames())
    for old, new in TABLE.items():
        if old.removeprefix("linad.") in public:
            sys.modules.setdefault(old, importlib.import_module(new))
