"""scipy.cluster, traced."""

import scipy.cluster

from linad.core.mirrored_names import mirrored_names

__getattr__, __dir__ = mirrored_names(scipy.cluster, package=__name__, rooms=("vq",))
