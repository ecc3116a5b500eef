"""What has no traced form, and what to do instead: the words of the error.

Files take plain numbers; dates, text and records have no derivative at all.
"""

import numpy as np

from linad.core.dispatch import REMEDIES

_SAVE = "a file takes plain numbers: pass linad.stop_gradient(x), or save the returned result"
_DATES = "dates have no derivative: pass plain arrays, linad.stop_gradient(x) of a traced one"
_TEXT = "text has no derivative: pass plain arrays, linad.stop_gradient(x) of a traced one"
_RECORDS = (
    "a traced array has one number per entry and no named fields: keep the fields as a dict of "
    "arrays, which every derivative takes and returns"
)

for _name in ("save", "savez", "savez_compressed", "savetxt"):
    REMEDIES[f"numpy.{_name}"] = _SAVE
for _name in ("busday_count", "busday_offset", "is_busday", "datetime_as_string"):
    REMEDIES[f"numpy.{_name}"] = _DATES
for _module in ("numpy.strings", "numpy.char", "numpy._core.defchararray"):
    REMEDIES[_module] = _TEXT
for _ufunc in vars(np._core.umath).values():  # type: ignore[attr-defined]
    if isinstance(_ufunc, np.ufunc) and not _ufunc.types:  # no loop over numbers
        REMEDIES[f"numpy.{_ufunc.__name__}"] = _TEXT
REMEDIES["numpy.lib.recfunctions"] = _RECORDS
