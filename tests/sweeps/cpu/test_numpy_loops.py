"""The C functions behind NumPy's generalized ufuncs, and what is none."""

from linad.sweeps.cpu.numpy_loops import loop_of

FOURIER = "numpy.fft._pocketfft_umath"


def test_what_is_as_expected_has_a_loop():
    assert loop_of(FOURIER, "fft", "(n),()->(m)", "Dd->D") is not None


def test_what_is_not_has_none():
    assert loop_of(FOURIER, "clongdouble", "(n),()->(m)", "Dd->D") is None
    assert loop_of(FOURIER, "fft", "(n),()->(m)", "qq->q") is None
    assert loop_of(FOURIER, "fft", "(n),(k)->(m)", "Dd->D") is None
    assert loop_of("numpy.fft.nowhere", "fft", "(n),()->(m)", "Dd->D") is None
