"""What takes bytes of traced arrays."""

import hashlib

import pytest

from linad.adoption.array_bytes import updates_a_digest


@pytest.mark.parametrize("name", sorted(hashlib.algorithms_guaranteed))
def test_digests_are_known_by_their_types(name):
    digest = hashlib.new(name, usedforsecurity=False)
    assert updates_a_digest(digest.update)
    assert not updates_a_digest(digest.copy)
    assert not updates_a_digest({}.update)
