"""Every keyword of functions of NumPy's that compiled functions know: right, or refused by name.

What NumPy gives is given, and what it raises is raised, whether the call is machine code, is called
back or leaves the function to Python; a keyword that leaves it is named.
"""

import copy
import inspect
import linecache

import numpy as np
import pytest

import zyg
from tests.calls import tables
from tests.calls.compare import difference, quietly
from zyg.compiler.front.calls import is_known
from zyg.compiler.front.limits import composed_text, written_of
from zyg.compiling.inspection import known_call

A, OF_UFUNCS = np.linspace(-2.0, 2.0, 12).reshape(3, 4), "axes axis casting dtype order out subok"
_VALUES = {
    "allow_duplicates": [True], "append": [1.0], "assume_unique": [True], "atol": [0.1],
    "axes": [(1, 0), (0, 5), None], "axis": [0, -1, None, (0, 1), 7], "axis1": [1], "axis2": [0],
    "axisa": [0], "axisb": [0], "axisc": [0], "a_max": [0.5], "a_min": [0.1], "base": [3.0],
    "bias": [True], "bins": [4], "casting": ["same_kind", "unsafe", "no"], "compute_uv": [False],
    "constant_values": [1.0], "copy": [True, False, None], "correction": [1.5], "cov": [True],
    "ddof": [1], "decimals": [1, -1], "deg": [1], "density": [True], "destination": [1],
    "device": [None, "cpu"], "discont": [2.0], "dtype": [np.float32, float, int, np.int32, complex],
    "dx": [0.5], "edge_order": [2], "endpoint": [False], "equal_nan": [True], "full": [True],
    "full_matrices": [False], "fweights": [None], "hermitian": [True], "include_initial": [True],
    "increasing": [True], "indexing": ["ij", "xy"], "initial": [2.5, 0], "interpolation": ["lower"],
    "invert": [True], "k": [1], "keepdims": [True, False], "kind": ["stable", "quicksort", "none"],
    "left": [0.5], "like": [None], "lower": [True], "max": [1.0], "mean": [0.3],
    "method": ["linear", "lower", "nearest"], "min": [0.0], "minlength": [9],
    "mode": ["clip", "wrap", "raise", "same", "full"], "M": [4], "n": [2], "N": [3], "nan": [1.0],
    "ndmin": [2], "neginf": [3.0], "norm": ["ortho"], "num": [4], "obj": [1], "offset": [1],
    "optimize": [True, False], "ord": [1, np.inf], "order": ["C", "F", "K", "A", None],
    "overwrite_input": [True], "p": [2], "period": [3.0], "posinf": [2.0], "prepend": [1.0],
    "range": [(0.0, 1.0)], "rcond": [0.1], "repeats": [2], "returned": [True],
    "return_counts": [True], "return_index": [True], "return_inverse": [True], "right": [0.5],
    "rowvar": [False], "rtol": [0.1], "s": [None], "shape": [(2, 3)], "shift": [1],
    "side": ["right"], "size": [3], "sort": [True], "sorter": [None], "sorted": [True],
    "source": [0], "sparse": [True], "stable": [True], "step": [2], "strict": [True],
    "subok": [False, True], "trim": ["f"], "UPLO": ["U"], "upper": [True],
    "out": [lambda x, y: np.zeros(np.shape(y), np.asarray(y).dtype)],
    "w": [lambda x, y: np.abs(x) + 1], "weights": [lambda x, y: np.abs(x) + 1],
    "where": [True, lambda x, y: np.asarray(x) > 0],
}  # fmt: skip


def keywords():
    """Functions, a call of each, and the keywords that it may have besides."""
    for f, calls in tables.NUMPY.items():
        if not (is_known(f) or written_of(f) is not None or composed_text(f) is not None):
            continue
        usual = (c for c in calls if c.args and getattr(c.args[0], "size", 0) > 1)
        c = next(usual, calls[0])
        if isinstance(f, np.ufunc):
            names = OF_UFUNCS.split()
        else:
            names = [*inspect.signature(f).parameters][len(c.args) :]
        for name in names:
            if name in _VALUES and name not in c.kwargs:
                yield pytest.param(f, c, name, id=f"{f.__name__}({name}=)")


def program(f, c, names, name, value):
    """A function that makes the call, and its arguments: the arrays among those of the call."""
    given, texts, known = {}, [], {"f": f}
    for k, x in enumerate(c.args):
        (given if _is_data(x) else known)[f"x{k}"] = x
        texts.append(f"x{k}")
    for key, x in {**c.kwargs, **({} if name is None else {name: value})}.items():
        (given if _is_data(x) else known)[f"k_{key}"] = x
        texts.append(f"{key}=k_{key}")
    text = f"def g({', '.join(given)}):\n    return f({', '.join(texts)})\n"
    file = f"<{next(names)} of {f.__name__}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), known)
    return known["g"], [*given.values()]


def _is_data(x):
    if isinstance(x, (list, tuple)):
        return len(x) > 0 and all(isinstance(v, np.ndarray) for v in x)
    return isinstance(x, (np.ndarray, np.generic, float))


def outcome(f, args):
    args = copy.deepcopy(args)
    try:
        return quietly(f, *args), args
    except Exception as error:
        return type(error), None


@pytest.mark.parametrize(("f", "c", "name"), [*keywords()])
def test_a_keyword_is_right_or_refused_by_name(f, c, name):
    names = iter(range(100))
    plain, args = program(f, c, names, None, None)
    usual = zyg.compile(plain)
    known, _ = quietly(known_call, usual, tuple(args), {})
    machine = known is not None and not known.known.called_back
    y = outcome(plain, args)[0]
    for value in _VALUES[name]:
        value = value(c.args[0], y) if callable(value) and name != "dtype" else value
        g, given = program(f, c, names, name, value)
        compiled = zyg.compile(g)
        with zyg.config(fallback="silent"):
            found, after = outcome(compiled, given)
            call, why = quietly(known_call, compiled, tuple(given), {})
        expected, then = outcome(g, given)
        if then is None:
            assert found is expected
            continue
        assert difference((found, after), (expected, then), 1e-10) == ""
        if name == "out":
            assert (found is after[-1]) == (expected is then[-1])
        if machine and call is None:
            said = [x for x in why.splitlines() if x.strip()[:3] not in ("whe", "in:")]
            assert name in " ".join(said)
