"""What the source of a function shows of the tables that it asks."""

import sys

import pytest

from linad.core.memo_tables import is_memo

TABLE = {}


class Key:
    """Asks, when it is compared, what its frame asks."""

    def __hash__(self):
        return hash(1.0)

    def __eq__(self, other):
        FOUND.append(is_memo(sys._getframe(1)))
        return False


FOUND = []


def by_membership(k):
    if k not in TABLE:
        TABLE[k] = 2.0
    return TABLE[k]


def by_error(k):
    try:
        return TABLE[k]
    except KeyError:
        TABLE[k] = value = 2.0
        return value


def by_get(k, holder=None):
    kept = KEEPER.table
    value = kept.get(k)
    if value is None:
        kept[k] = value = 2.0
    return value


class Keeper:
    def __init__(self):
        self.table = {1.0: 0.0}

    def get(self, k):
        if k in self.table:
            return self.table[k]
        self.table[k] = 2.0


KEEPER = Keeper()


def only_asked(k):
    return k in TABLE


def counted(k):
    TABLE[k] = TABLE.get(k, 0) + 1


def collected(k):
    if k in TABLE:
        TABLE[k].append(1)
    else:
        TABLE[k] = [1]


def own(k):
    table = {1.0: 2.0}
    if k not in table:
        table[k] = 3.0


def by_another_key(k):
    if k in TABLE:
        return 0.0
    TABLE[k, 1] = 1.0


def changed(k):
    if k not in TABLE:
        TABLE[k] = 0
    TABLE[k] += 1


@pytest.mark.parametrize("ask", [by_membership, by_error, by_get, KEEPER.get])
def test_what_keeps_results(ask):
    TABLE.clear()
    TABLE[1.0] = 0.0
    FOUND.clear()
    ask(Key())
    assert FOUND
    assert all(FOUND)


@pytest.mark.parametrize("ask", [only_asked, counted, collected, own, by_another_key, changed])
def test_what_keeps_something_else(ask):
    TABLE.clear()
    TABLE[1.0] = 0.0
    FOUND.clear()
    ask(Key())
    assert FOUND
    assert not any(FOUND)


def test_source_that_is_not_to_be_had():
    space = {"TABLE": {1.0: 0.0}}
    exec("def f(k):\n    if k not in TABLE:\n        TABLE[k] = 2.0\n", space)
    FOUND.clear()
    space["f"](Key())
    assert not any(FOUND)
