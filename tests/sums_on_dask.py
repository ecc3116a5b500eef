"""Sums over shards on a cluster of Dask's: run by ``tox -e dask``.

Two processes fit a logistic regression of 1e6 x 20; in one of two runs a process is killed in the
third step. Both results are that of one process, bit for bit. What it took is printed.
"""

import asyncio
import functools
import os
import signal
import threading
import time

import dask
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster
from scipy.sparse.linalg import cg
from shard_losses import COLUMNS, ROWS, logistic, rows, squares

import linad
from linad.errors import ArgumentError, ShardError

SHARDS = 8
RECIPES = [functools.partial(rows, k, ROWS // SHARDS) for k in range(SHARDS)]
W = np.linspace(-1, 1, COLUMNS)


@pytest.fixture(scope="module")
def client():
    options = {"dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as c, Client(c) as client:
        yield client


def fit(F, before=lambda step: None):
    """Newton's method with conjugate gradients for F(w) + w.w/2."""

    def f(w):
        return F(w) + 0.5 * w @ w

    w = np.zeros(COLUMNS)
    for step in range(7):
        before(step)
        _, g = linad.value_and_grad(f)(w)
        w = w - cg(linad.hessian_operator(f, w), g, rtol=1e-6)[0]
    return f(w), w


def timed(name, F, before=lambda step: None):
    fit(F)  # the shards are there, and all is compiled
    begun = time.perf_counter()
    found = fit(F, before)
    took = time.perf_counter() - begun
    print(f"\n{name}: {took:.1f} s; load {os.getloadavg()[0]:.1f}\n{F.report()}")
    return *found, took


def test_a_killed_worker_changes_no_bit(client):
    def kill(step):
        if step == 2:
            worker = next(iter(client.run(os.getpid).values()))
            threading.Timer(0.05, os.kill, (worker, signal.SIGKILL)).start()

    value, w, together = timed("two processes", linad.sum_of(logistic, RECIPES, executor=client))
    killed = timed("one killed", linad.sum_of(logistic, RECIPES, executor=client), kill)
    alone = timed("one process", linad.sum_of(logistic, RECIPES))
    print(f"one process takes {alone[2] / together:.2f} times as long as two")
    for other in (killed, alone):
        assert other[0] == value
        assert np.array_equal(other[1], w)


@pytest.mark.parametrize("tasks", [None, 1, 40])
def test_many_shards_go_in_few_tasks(client, tasks):
    recipes = [functools.partial(rows, k, 50) for k in range(40)]
    F = linad.sum_of(squares, recipes, executor=client, tasks=tasks)
    alone = linad.sum_of(squares, recipes)
    assert F(W) == alone(W)
    assert np.array_equal(linad.grad(F)(W), linad.grad(alone)(W))
    assert F.report().tasks <= (tasks or 8) * F.report().calls


def test_shards_of_every_form(client):
    data = [rows(k, 50) for k in range(3)]
    expected = linad.sum_of(squares, data)(W)
    futures = client.map(rows, range(3), count=50)
    delayed = [dask.delayed(rows)(k, 50) for k in range(3)]
    pairs = [(dask.delayed(X), client.submit(np.copy, y)) for X, y in data]
    for shards in (data, futures, delayed, pairs):
        assert linad.sum_of(squares, shards, executor=client)(W) == expected


def test_a_lambda_and_a_large_point(client):
    shards = [np.arange(k, k + 3.0) for k in range(3)]
    w = np.linspace(0, 1, 300_000)
    F = linad.sum_of(lambda w, x: np.sum(w**2) * np.sum(x), shards, executor=client)
    assert np.allclose(linad.grad(F)(w), 2 * w * 18.0)


def test_failures_name_their_shard(client):
    def f(w, x):
        return np.sum(w) / (1 // x)

    F = linad.sum_of(f, [1, 1, 0], executor=client, jit=False)
    with pytest.raises(ShardError, match="shard 2 of 3: ZeroDivisionError") as error:
        F(W)
    assert error.value.shard == 2
    assert any("Traceback" in note for note in error.value.__notes__)


def test_a_shard_that_cannot_be_made(client):
    def missing():
        raise FileNotFoundError("part-1.npz")

    F = linad.sum_of(squares, [RECIPES[0], missing], executor=client)
    with pytest.raises(ShardError, match="shard 1: FileNotFoundError: part-1.npz"):
        F(W)


def test_threads_of_a_worker_and_normal_matrices():
    options = {"processes": False, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=1, threads_per_worker=2, **options) as c, Client(c) as client:
        recipes = [functools.partial(rows, k, 50) for k in range(5)]
        G = linad.normal_of(lambda w, X, y: X @ w - y, recipes, executor=client)(W)
        X = np.concatenate([rows(k, 50)[0] for k in range(5)])
        assert np.allclose(G.todense(), X.T @ X)


def test_an_asynchronous_client_is_refused(client):
    async def make():
        address = client.scheduler.address
        async with Client(address, asynchronous=True, set_as_default=False) as other:
            linad.sum_of(squares, RECIPES, executor=other)

    with pytest.raises(ArgumentError, match="asynchronous"):
        asyncio.run(make())
