"""What Numba has kept on disk is compared with what it wrote, before it is run."""

import pytest

from linad.sweeps.cpu.numba_files import is_sealed, machine_code_of, seal, write_source


@pytest.mark.parametrize("damage", ["changed", "emptied", "removed"])
@pytest.mark.parametrize("name", ["k.f-1.py311.nbi", "k.f-1.py311.1.nbc", "k.sum"])
def test_damage_is_noticed(tmp_path, name, damage):
    source = tmp_path / "k.py"
    write_source(source, "def f():\n    return 1\n")
    beside = tmp_path / "__pycache__"
    beside.mkdir()
    for suffix in ("nbi", "1.nbc"):
        (beside / f"k.f-1.py311.{suffix}").write_bytes(suffix.encode())
    seal(source)
    assert is_sealed(source)
    assert len(machine_code_of(source)) == 2
    file = tmp_path / name if name == "k.sum" else beside / name
    if damage == "removed":
        file.unlink()
    else:
        file.write_bytes(b"" if damage == "emptied" else file.read_bytes() + b"1")
    assert not is_sealed(source)
    assert not machine_code_of(source)


def test_a_source_is_written_once(tmp_path):
    source = tmp_path / "k.py"
    write_source(source, "1")
    first = source.stat().st_ino
    write_source(source, "1")
    assert source.stat().st_ino == first
    write_source(source, "2")
    assert source.read_text() == "2"
    assert [f.name for f in tmp_path.iterdir()] == ["k.py"]
