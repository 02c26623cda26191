"""Counts of references, with and without the interpreter's lock."""

import subprocess
import sys
from pathlib import Path

import pytest

from zyg.base import references

ROOT = Path(__file__).parents[2]

WITHOUT = """
import sys

sys._is_gil_enabled = lambda: False  # as a Python says that has no lock
import numpy as np
import zyg
from zyg.core import kept, protection, trace

assert trace._ALONE == kept._ONE_VIEW == protection._ALONE == -1


def f(x, w):
    y = np.reshape(w, (2, -1)) * x
    y[0] = x
    return np.sum(np.tanh(y) ** 2), y


x, w = np.linspace(0.1, 1.0, 2000), np.linspace(1.0, 2.0, 4000)
(value, y), back = zyg.pullback(f, x, w)
first = back((1.0, y))
second = back((1.0, y))
assert not np.shares_memory(first[0], second[0])
for a, b in zip(first, second):
    assert a.tobytes() == b.tobytes()
    a += 1.0
assert back((1.0, y))[0].tobytes() == second[0].tobytes()
zyg.check_gradient(lambda x: f(x, w[:6])[0], x[:3])
w[0] = 5.0
print("right")
"""


def test_a_count_is_relied_on_only_with_the_lock(monkeypatch):
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    assert references.alone(2) == 2
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False)
    assert references.alone(2) == -1
    monkeypatch.delattr(sys, "_is_gil_enabled")
    assert references.alone(2) == 2


@pytest.mark.slow
def test_without_the_lock_everything_is_copied_and_right():
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, cwd=ROOT, timeout=300
    )
    assert ran.stdout == "right\n", ran.stderr
