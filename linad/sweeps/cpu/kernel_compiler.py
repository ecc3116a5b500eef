"""Numba's compiler without what the source of a kernel never has.

A kernel is written by linad: loops over numbers, one assignment a line. Numba's passes for
closures, ``with`` blocks, branches on constants, expressions of arrays and functions that are
inlined as source find nothing in it, and go through all of it to see that. The machine code is
the same without them, and comes in five sixths of the time.
"""

from numba.core import typed_passes, untyped_passes
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager

PASSES = [
    (untyped_passes.TranslateByteCode, "analyzing bytecode"),
    (untyped_passes.FixupArgs, "fix up args"),
    (untyped_passes.IRProcessing, "processing IR"),
    (untyped_passes.GenericRewrites, "powers and indices that are constants"),
    (untyped_passes.ReconstructSSA, "ssa"),
    (typed_passes.NopythonTypeInference, "type inference"),
    (typed_passes.PreLowerStripPhis, "remove phi nodes"),
    (typed_passes.IRLegalization, "ensure IR is legal prior to lowering"),
    (typed_passes.AnnotateTypes, "annotate types"),
    (typed_passes.NativeLowering, "native lowering"),
    (typed_passes.NoPythonBackend, "nopython mode backend"),
]
"""Numba's, in the order of `numba.core.compiler.DefaultPassBuilder`."""


class KernelCompiler(CompilerBase):
    """For ``pipeline_class`` of `numba.cfunc`."""

    def define_pipelines(self) -> list[PassManager]:
        """The one way to compile a kernel."""
        passes = PassManager("kernel")
        for kind, description in PASSES:
            passes.add_pass(kind, description)
        passes.finalize()
        return [passes]
