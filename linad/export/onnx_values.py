"""Nodes of an ONNX graph, and the names of the values between them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from linad.core.shapes import Shape, size_of
from linad.core.tape import Var

Value = tuple[str, Shape, Any]
"""Name, shape and dtype of a value of a graph."""

INTEGER, TRUTH = np.dtype(np.int64), np.dtype(bool)


class NoForm(Exception):
    """A form finds that it cannot write an equation; the text says why."""


def tensor_type(dtype: np.dtype[Any]) -> int:
    """ONNX's number of a dtype.

    Raises
    ------
    NoForm
        For dtypes that models of linad do not hold.
    """
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        raise NoForm(
            "ONNX has no complex arithmetic; write the function in real and imaginary parts"
        )
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise NoForm(f"ONNX has no dtype {dtype}")
    return helper.np_dtype_to_tensor_dtype(dtype)


class ValueWriter:
    """Writes nodes.

    Parameters
    ----------
    shared : bool
        Whether equal constants are one; models that are compared have each by itself.
    inline : bool
        Whether constants are nodes, as in a function of a model, and not initializers.

    Attributes
    ----------
    nodes : list of NodeProto
    constants : dict
        Arrays by name.
    holds : list of str
        Booleans, one for each decision that Python took on a value.
    place : str
        The user's line that nodes come from.
    """

    def __init__(self, shared: bool = True, inline: bool = False) -> None:
        self.shared, self.inline = shared, inline
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}
        self.holds: list[str] = []
        self.names: dict[Var, str] = {}
        self.place = ""
        self._known: dict[Any, str] = {}
        self._taken: set[str] = set()
        self._count = 0

    def fresh(self, hint: str) -> str:
        """A name that nothing has yet."""
        self._count += 1
        name = f"{hint}_{self._count}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def reserve(self, names: Sequence[str]) -> None:
        """Keep names for inputs and outputs."""
        self._taken.update(names)

    def constant(self, value: Any, dtype: Any = None) -> str:
        """The name of a constant array or number."""
        value = np.array(value, dtype, order="C")
        tensor_type(value.dtype)
        value = value.astype(value.dtype.newbyteorder("="))
        key = value.dtype.str, value.shape, value.tobytes()
        name = self._known.get(key) if self.shared else None
        if name is None:
            name = self.fresh("constant")
            self._known[key] = name
            if self.inline:
                tensor = numpy_helper.from_array(value, name)
                self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
            else:
                self.constants[name] = value
        return name

    def numbers(self, values: Any) -> str:
        """The name of a list of integers: axes, a shape."""
        return self.constant(np.asarray(values, np.int64).reshape(-1))

    def node(
        self, op: str, inputs: Sequence[str], outputs: int = 1, domain: str = "", **attributes: Any
    ) -> Any:
        """Add a node; return the name of its output, or a tuple of several."""
        made = [self.fresh(op.lower()) for _ in range(outputs)]
        node = helper.make_node(op, list(inputs), made, domain=domain, **attributes)
        if self.place:
            node.doc_string = self.place
        self.nodes.append(node)
        return made[0] if outputs == 1 else tuple(made)

    def read(self, a: Any, dtype: Any = None) -> str:
        """The name of an operand, in a dtype; Python numbers take it."""
        if isinstance(a, Var):
            return self.cast(self.names[a], a.dtype, a.dtype if dtype is None else dtype)
        return self.constant(a, dtype)

    def cast(self, name: str, old: Any, new: Any) -> str:
        """A value in another dtype; truth of numbers is whether they are not zero."""
        old, new = np.dtype(old), np.dtype(new)
        kind = tensor_type(new)
        if old == new:
            return name
        made: str = self.node("Cast", [name], to=kind)
        return made

    def reshape(self, name: str, old: Shape, new: Shape) -> str:
        """A value in another shape."""
        if tuple(old) == tuple(new):
            return name
        # A zero would otherwise stand for the old length of that axis.
        keywords: dict[str, Any] = {} if size_of(new) else {"allowzero": 1}
        made: str = self.node("Reshape", [name, self.numbers(new)], **keywords)
        return made

    def expand(self, name: str, old: Shape, new: Shape) -> str:
        """A value repeated to a shape."""
        if tuple(old) == tuple(new):
            return name
        made: str = self.node("Expand", [name, self.numbers(new)])
        return made

    def all_hold(self, holds: Sequence[str]) -> str:
        """Whether all of some truths are."""
        found = holds[0]
        for other in holds[1:]:
            found = self.node("And", [found, other])
        return found
