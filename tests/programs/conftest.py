import pytest
from kernels_in_python import kernels_in_python


@pytest.fixture(autouse=True, params=["python", pytest.param("compiled", marks=pytest.mark.full)])
def kernels(request, monkeypatch):
    """Kernels run in Python; compiled, the programs of this folder take two minutes."""
    if request.param == "compiled":
        yield
    else:
        with kernels_in_python(monkeypatch):
            yield
