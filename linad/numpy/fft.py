"""`numpy.fft`, whose arguments may be lists of traced numbers."""

import numpy as np

from linad.core.mirrored_names import mirrored_names
from linad.numpy.list_arguments import list_forms

__getattr__, __dir__ = mirrored_names(np.fft, list_forms(np.fft))
