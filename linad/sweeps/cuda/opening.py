"""The GPU of this process, opened when it is first asked for."""

import copyreg
import functools

from linad.core.compiler_lock import compiling
from linad.sweeps.cuda.device import Device
from linad.sweeps.cuda.device_target import DeviceTarget


def open_device() -> Device:
    """The first GPU that the driver shows.

    Raises
    ------
    DeviceError
        If there is none, or a package is missing.
    """
    from linad.sweeps.cuda.nvidia import NvidiaDevice

    return NvidiaDevice()


@functools.cache
def _made() -> DeviceTarget:
    return DeviceTarget(open_device())


def target_here() -> DeviceTarget:
    """What programs on the GPU are compiled for.

    Raises
    ------
    DeviceError
        If there is no GPU.
    """
    with compiling:
        return _made()


copyreg.pickle(DeviceTarget, lambda target: (target_here, ()))  # the GPU of the other process
