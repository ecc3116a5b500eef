"""scipy.integrate.ode, traced: the object that is asked for the solution at one time after another.

SciPy's own integrator gives each value; the derivative along the way is that of the solution by
DOP853, or for stiff methods by Radau's, with tighter tolerances.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from linad.arrays.traces import running_trace
from linad.core.array_type import Array
from linad.core.tolerances import tell_tolerance
from linad.core.tree import bare
from linad.errors import UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import form
from linad.scipy.initialvalue import replayed
from linad.scipy.mirror import inexact

STIFF = ("bdf",)
TIGHTER = 1e-2
"""Tolerances of the derivative, in those of the value."""


class TracedOde:
    """What `ode` makes while a trace runs, with SciPy's methods.

    Parameters
    ----------
    f : callable
        ``f(t, y, *f_params)``, which may close over traced values.
    jac : callable, optional
    """

    stands_for: type = scipy.integrate.ode

    def __init__(self, f: Callable[..., Any], jac: Any = None) -> None:
        self.f, self.jac = f, jac
        self.f_params: tuple[Any, ...] = ()
        self.jac_params: tuple[Any, ...] = ()
        self._plain = scipy.integrate.ode(self._field, None if jac is None else self._matrix)
        self._stiff, self._tolerances = False, (1e-6, 1e-12)
        self._y: Any = []
        self.t = 0.0

    def _field(self, t: float, y: Array) -> Any:
        return form(asarray(self.f(t, y, *self.f_params)))

    def _matrix(self, t: float, y: Any) -> Any:
        return form(asarray(self.jac(t, y, *self.jac_params)))

    @property
    def y(self) -> Any:
        """The state, traced."""
        return self._y

    def set_integrator(self, name: str, **options: Any) -> "TracedOde":
        """Choose one of SciPy's integrators, for real states."""
        if name == "zvode":
            raise UnsupportedError("ode: complex states are not traced by linad; use solve_ivp")
        self._plain.set_integrator(name, **options)
        self._stiff = str(options.get("method", "")).lower() in STIFF or name.lower() == "lsoda"
        self._tolerances = options.get("rtol", 1e-6), options.get("atol", 1e-12)
        return self

    def set_initial_value(self, y: Any, t: Any = 0.0) -> "TracedOde":
        """Where to start."""
        y = inexact(bare(y))
        self._y, self.t = y.reshape(1) if y.ndim == 0 else y, float(t)
        self._plain.set_initial_value(form(self._y), self.t)
        return self

    def set_f_params(self, *args: Any) -> "TracedOde":
        """What else f gets; it may be traced."""
        self.f_params = args
        return self

    def set_jac_params(self, *args: Any) -> "TracedOde":
        """What else the Jacobian gets."""
        self.jac_params = args
        return self

    def set_solout(self, solout: Any) -> None:
        """Not traced."""
        raise UnsupportedError("ode.set_solout is not traced by linad; use solve_ivp with events")

    def integrate(self, t: Any, step: bool = False, relax: bool = False) -> Any:
        """The state at a time."""
        if step or relax:
            raise UnsupportedError("ode.integrate: step and relax are not traced by linad")
        begin, t = self.t, float(t)
        value = self._plain.integrate(t)
        self.t = self._plain.t
        if self.successful() and self.t != begin:
            tell_tolerance("ode", "rtol", self._tolerances[0])
            rtol, atol = [TIGHTER * np.asarray(v) for v in self._tolerances]
            solution = replayed(
                *(self.f, (begin, self.t), self._y, "Radau" if self._stiff else "DOP853"),
                *([self.t], False, self.f_params, {"rtol": float(rtol), "atol": atol}),
            )
            if not solution.success:
                raise np.linalg.LinAlgError(f"ode: {solution.message}")
            y = solution.y[:, -1]
            self._y = y + (value - form(y))
        return self._y

    def successful(self) -> bool:
        """Whether SciPy reached the last time."""
        return self._plain.successful()  # type: ignore[no-any-return]

    def get_return_code(self) -> Any:
        """What SciPy's integrator says."""
        return self._plain.get_return_code()


class _OdeKind(type):
    """Calls of `ode`."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if cls is not ode:
            return super().__call__(*args, **options)
        return (scipy.integrate.ode if running_trace() is None else TracedOde)(*args, **options)

    def __instancecheck__(cls, x: Any) -> bool:
        kinds = (scipy.integrate.ode, TracedOde) if cls is ode else ()
        return isinstance(x, kinds) or super().__instancecheck__(x)


class ode(scipy.integrate.ode, metaclass=_OdeKind):
    """As `scipy.integrate.ode`; while a trace runs a `TracedOde`."""
