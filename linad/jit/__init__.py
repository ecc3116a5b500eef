"""Compiled calls: what a call is known by, the paths that are kept, and `linad.jit` itself."""

from linad.jit.jitted import Jitted as Jitted, _jitted as _jitted, jit as jit
