"""Helpers that are not in the language: which of them may stay in Python alone, and which not."""

import math
import random

import numpy as np

SCALE = 1.5
LOG = []
TABLE = {"a": 2.0}
WEIGHTS = np.array([1.0, 2.0])
count = 0


def catches(x):
    try:
        return math.sqrt(x)
    except ValueError:
        return 0.25 * x


def computes_keys(x, k):
    table = {}
    for j in range(3):
        table[f"a{j}"] = x * j
    return table[f"a{k}"] * SCALE


def several(x):
    try:
        return np.outer(x, x), x.sum(), (x * 2.0, None)
    finally:
        pass


def calls_another(x):
    try:
        return catches(x) * 2.0
    finally:
        pass


def prints(x):
    print("here")
    return x


def logs(x):
    LOG.append(1)
    return x


def counts(x):
    global count
    count += 1
    return x


def looks_up(x):
    try:
        return TABLE["a"] * x
    finally:
        pass


def weighs(x):
    try:
        return np.sum(WEIGHTS * x)
    finally:
        pass


def notes(x):
    notes.calls = 1
    return x


def draws(x):
    return x * random.random()


def imports(x):
    import time

    return x * (time.time() > 0)


def writes(x):
    try:
        x[0] = 3.0
    finally:
        pass
    return x.sum()


def gives_it_back(x):
    try:
        return x
    finally:
        pass


PURE = [catches, computes_keys, several, calls_another]
IMPURE = [prints, logs, counts, looks_up, weighs, notes, draws, imports]
