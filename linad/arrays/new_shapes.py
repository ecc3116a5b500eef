"""``x.shape = (2, 3)``: the handle takes another shape; what looks into the array keeps its own.

    before   x owns the storage; v = x[1:] looks into x
    after    a stand-in of the old shape owns it; v and x look into the stand-in

So writes through any of them are seen by all, as in NumPy.
"""

import gc
import weakref
from typing import Any

from linad.arrays.buffers import RepeatedView, View, root_of
from linad.errors import UnsupportedError


def take_shape(x: Any, shape: Any) -> None:
    """Give a traced array another shape, in place."""
    owned, viewed = type(x._buffer) is not View, getattr(root_of(x)._buffer, "viewed", False)
    before = type(x)(x._trace, x._node, x._value)
    x._trace.aliased(before)
    before._buffer = x._buffer
    new = before.reshape(shape)
    if new._buffer is None:
        raise UnsupportedError("the shape cannot be set without a copy; use y = x.reshape(shape)")
    if x._buffer is None:
        new._buffer = None  # nothing has looked into it
    elif viewed:
        _look_into(before, x, owned)
    if owned and x._buffer is not None:  # what plain code was given are numbers of what owns them
        x._trace.lent = [
            one._replace(owner=weakref.ref(before)) if one.owner() is x else one
            for one in x._trace.lent
        ]
    x._node, x._value, x._buffer = new._node, new._value, new._buffer
    x._square = None
    if type(x._buffer) is View:
        x._buffer.root._buffer.looked_into_by(x)


def _look_into(before: Any, x: Any, owned: bool) -> None:
    """Let the views that were made of ``x`` be views of what it was.

    An array does not know its views, which would cost each of them; the garbage collector does.
    """
    for view in gc.get_referrers(root_of(x)):
        if type(view) is View and view is not before._buffer:
            view.where()  # said by the call that made it, until now; it knows shapes
            if owned and view.root is x:
                view.root = before
    for view in gc.get_referrers(x):
        if type(view) is RepeatedView and view.parent is x:
            view.parent = before
