"""NumPy's functions as compiled functions call them, over dtypes, shapes, axes and edges.

Each expression is called for each argument by Python and as machine code: values, types, dtypes,
shapes and exceptions must agree, and derivatives by floats with those of the traced engine.
``python -m tests.compiling.numpys_functions`` says what differs, and what is not compiled;
``--only sort`` takes the expressions with that word, ``--share 3/50`` every fiftieth case.
"""

import argparse
import collections
import itertools
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import zyg
from tests.calls.compare import difference
from tests.compiler.test_language import imported
from zyg.errors import CompileError, ZygError


def words(text):
    return text.split()


def rows(text):
    """Expressions, several to a line."""
    return [row.strip() for line in text.splitlines() for row in line.split("|") if row.strip()]


NUMBERS = words("""absolute negative positive sign square sqrt cbrt exp exp2 expm1 log log2 log10
    log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc
    rint isnan isinf isfinite signbit conj real imag angle deg2rad rad2deg reciprocal logical_not
    nan_to_num sinc fix round""")
PAIRS = words("""add subtract multiply divide floor_divide remainder fmod power maximum minimum fmax
    fmin arctan2 hypot logaddexp logaddexp2 copysign nextafter heaviside less less_equal greater
    greater_equal equal not_equal logical_and logical_or logical_xor float_power""")
REDUCTIONS = words("""sum prod mean var std max min ptp all any argmax argmin median count_nonzero
    nansum nanmax nanmin nanmean cumsum cumprod sort argsort""")
METHODS = words("sum prod mean var std max min all any argmax argmin cumsum cumprod argsort")
AXES = ["", ", axis=0", ", axis=-1", ", axis=2", ", axis=None"]
KEPT = words("sum prod mean var std max min all any")
SHAPED = rows("""
    np.ravel(x)|np.transpose(x)|x.T|x.flatten()|x.copy()|np.squeeze(x)|np.atleast_1d(x)
    np.atleast_2d(x)|np.expand_dims(x, 0)|np.expand_dims(x, -1)|x.reshape(-1)|x.reshape(2, -1)
    np.flip(x)|np.flip(x, 0)|np.fliplr(x)|np.flipud(x)|np.roll(x, 1)|np.roll(x, -2, axis=0)
    np.repeat(x, 2)|np.repeat(x, 2, axis=0)|np.tile(x, 2)|np.tile(x, (2, 1))
    np.concatenate([x, x])|np.concatenate([x, x], axis=-1)|np.stack([x, x])
    np.stack([x, x], axis=-1)|np.vstack([x, x])|np.hstack([x, x])|np.column_stack([x, x])
    np.swapaxes(x, 0, -1)|np.moveaxis(x, 0, -1)|np.rot90(x)|np.broadcast_to(x, (2, 3))
    np.append(x, 1.0)|np.diff(x)|np.diff(x, axis=0)|np.ediff1d(x)|np.split(x, 2)[0]
    np.array_split(x, 3)[1]|np.pad(x, 1)|np.delete(x, 0)|np.insert(x, 0, 2)|np.tril(x)
    np.triu(x, 1)|np.diag(x)|np.diagonal(x)|np.trace(x)|np.shape(x)|np.ndim(x)|np.size(x)
    len(x)|x.size|x.ndim|x.shape|x.dtype == np.float64|x.tolist()|x.item()|x.astype(float)
    x.astype(int)|x.astype(np.float32)|x.astype(bool)|x.astype(complex)|np.zeros_like(x)
    np.ones_like(x)|np.full_like(x, 2)|np.array([x, x])|np.asarray(x)|float(x)|int(x)|bool(x)
    x[0]|x[-1]|x[1:]|x[::-1]|x[..., 0]|x[None]|x[x > 0]|x[[0, -1]]|abs(x)|-x|+x|~x|x.real
    x.imag|x.conj()|x.clip(0, 1)|x.round(1)|x.squeeze()|x.ravel()|x.any()|x.mean(0)
    x.min(axis=-1)""")
OTHERS = rows("""
    np.clip(x, 0, 1)|np.clip(x, None, 0.5)|np.clip(x, x, 1)|np.where(x > 0, x, 0)|np.where(x)
    np.nonzero(x)|np.interp(x, [0.0, 1.0], [2.0, 5.0])|np.searchsorted(x, 0.5)|np.unique(x)
    np.digitize(x, [0.0, 1.0])|np.bincount(x)|np.convolve(x, [1.0, 2.0])|np.correlate(x, x)
    np.convolve(x, [1.0, 2.0], 'same')|np.polyval([1.0, 2.0], x)|np.vander(x, 3)|np.outer(x, x)
    np.inner(x, x)|np.dot(x, x)|np.dot(x, 2.0)|np.dot(x, 2)|np.vdot(x, x)|x @ x|x @ x.T|x.dot(x)
    np.matmul(x, x)|np.tensordot(x, x, 1)|np.kron(x, x)|np.cross(x, x)
    np.einsum('i,i->', x, x)|np.einsum('ij,ij->i', x, x)|np.einsum('ij->ji', x)
    np.linalg.norm(x)|np.linalg.norm(x, 1)|np.linalg.norm(x, np.inf)|np.linalg.norm(x, axis=0)
    np.linalg.norm(x, 'fro')|np.linalg.det(x @ x.T)|np.linalg.inv(x @ x.T + np.eye(len(x)))
    np.trapezoid(x)|np.gradient(x)|np.cumsum(x)[-1]|np.add.reduce(x)|np.multiply.accumulate(x)
    np.maximum.reduce(x)|np.add.outer(x, x)|np.average(x)|np.quantile(x, 0.3)
    np.percentile(x, [25, 75])|np.cov(x)|np.corrcoef(x)|np.isclose(x, 0.5)|np.allclose(x, x)
    np.array_equal(x, x)|np.sum(x, where=x > 0)|np.max(x, initial=0)|np.sum(x, initial=2)
    np.sum(x, dtype=float)|np.mean(x, dtype=np.float32)|np.var(x, ddof=1)|np.std(x, ddof=1)
    max(x)|min(x)|sum(x)|sorted(x)|list(x)|x ** 2|x ** -1|x ** 0.5|2 ** x|2.0 ** x|x / 0|x // 0
    x % 0|x // 2|x % 2|divmod(x, 2)|x & 1|x << 1|x and 1.0|not x|x if x else 2.0|round(x)
    round(x, 1)|hash(x) == 0""")
EXPRESSIONS = [
    *(f"np.{name}(x)" for name in NUMBERS),
    *(f"np.{name}(x{axis})" for name in REDUCTIONS for axis in AXES),
    *(f"np.{name}(x, axis=0, keepdims=True)" for name in KEPT),
    *(f"np.{name}(x, axis=(0, 1))" for name in KEPT),
    *(f"x.{name}({axis[2:]})" for name in METHODS for axis in AXES),
    *SHAPED, *OTHERS,
    *(f"np.{name}(x, y)" for name in PAIRS), *(f"np.{name}(x, 2)" for name in PAIRS),
    *(f"np.{name}(0.5, x)" for name in PAIRS),
]  # fmt: skip


def arguments():
    """What every expression is called with, by name."""
    rng = np.random.default_rng(3)
    for shape in [(), (1,), (4,), (0,), (2, 3), (3, 1), (0, 3), (2, 2, 3)]:
        x = rng.standard_normal(shape) * 2
        if shape == (4,):
            x[1] = x[3]  # a tie
        for dtype in ("float64", "float32", "int64", "bool", "complex128"):
            made = np.asarray(x * (1 + 0.5j) if dtype == "complex128" else x * 2).astype(dtype)
            yield f"{dtype}{list(shape)}", made
    yield "edges", np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0])
    yield "transposed", np.arange(6.0).reshape(2, 3).T - 2.3
    for x in (0.7, -2, 3, True, 0, 0.3 + 0.4j):
        yield f"{type(x).__name__} {x}", x
    for dtype in (np.float64, np.float32, np.int64, np.bool_, np.complex128):
        yield f"np.{dtype.__name__}", dtype(1.5)


def given(expression, x):
    """The arguments of an expression: what is combined with x is like it."""
    if " y" not in expression:
        return (x,)
    return x, (np.flip(x) if isinstance(x, np.ndarray) and x.ndim else x)


def outcome(f, args):
    """What a call gives: "raised" and which, or "gave" and what."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "gave", f(*args)
        except CompileError as error:
            return "refused", str(error).splitlines()[0]
        except Exception as error:
            return "raised", type(error)


def is_differentiable(x):
    return isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype == np.float64)


def gradient(f, args):
    """The gradient of a weighed sum of what a function gives; None if it cannot be taken."""
    try:
        y, back = zyg.pullback(f, *args)
        if not is_differentiable(y):
            return None
        bar = np.cos(np.arange(np.size(y)) + 1.0).reshape(np.shape(y))
        return back(bar if isinstance(y, np.ndarray) else y * 0 + 1.0)
    except (ZygError, TypeError, ValueError, ArithmeticError, np.linalg.LinAlgError, IndexError):
        return None


def compare(f, traced, args):
    """ "the same", "not compiled: ...", or how they differ."""
    expected = outcome(f, args)
    compiled = zyg.compile(f)
    with zyg.config(fallback="error"):
        found = outcome(compiled, args)
    if found[0] == "refused":
        return f"not compiled: {found[1]}"
    if found[0] != expected[0]:
        return f"{found[0]} {found[1]!r}, where Python {expected[0]} {expected[1]!r}"
    if found[0] == "raised":
        return "" if found[1] is expected[1] else f"raised {found[1]} for {expected[1]}"
    if why := difference(found[1], expected[1], 1e-11):
        return why
    if (
        not all(map(is_differentiable, args))
        or not is_differentiable(expected[1])
        or (not np.all(np.isfinite(expected[1])))
    ):
        return ""
    with zyg.config(fallback="silent"):
        slope, right = (outcome(gradient, (g, args))[1] for g in (compiled, traced))
    if not isinstance(slope, tuple) or not isinstance(right, tuple):
        return ""
    zeros = [np.zeros(np.shape(x)) for x in args]
    pairs = zip(slope, right, zeros, strict=True)
    for a, b, zero in pairs:
        a, b = (zero if x is None else np.asarray(x) for x in (a, b))
        if why := difference(a, b, 1e-8):
            return f"gradient: {why}"
    return ""


def modules(folder, expressions):
    """The functions of the expressions, plain and with the drop-in namespaces."""
    for k, head in enumerate(("import numpy as np", "import zyg.numpy as np")):
        text = [f"{head}\n"]
        for n, expression in enumerate(expressions):
            params = "x, y" if " y" in expression else "x"
            text.append(f"\n\ndef f{n}({params}):\n    return {expression}\n")
        yield imported("".join(text), Path(folder, f"numpys_{k}.py"))


def run(expressions, share=(0, 1), say=print):
    """Compare all cases of a share; how many there are of each outcome."""
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        plain, traced = modules(folder, expressions)
        cases = itertools.product(enumerate(expressions), arguments())
        for case, ((n, expression), (name, x)) in enumerate(cases):
            if case % share[1] != share[0]:
                continue
            f, g = (getattr(module, f"f{n}") for module in (plain, traced))
            found = compare(f, g, given(expression, x))
            kind = found.partition(":")[0] if found.startswith("not compiled") else found
            counts["the same" if not found else "not compiled" if kind != found else "differs"] += 1
            if found:
                say(f"{expression} of {name}: {found}"[:200])
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="expressions with this word")
    parser.add_argument("--share", default="0/1", help="k/n: every n-th case, from the k-th")
    parser.add_argument("--refused", action="store_true", help="print what is not compiled, too")
    options = parser.parse_args()
    chosen = [e for e in EXPRESSIONS if options.only in e]

    def say(line):
        if options.refused or ": not compiled" not in line:
            print(line, flush=True)

    counts = run(chosen, tuple(map(int, options.share.split("/"))), say)
    print(dict(counts))
    sys.exit(bool(counts["differs"]))


if __name__ == "__main__":
    main()
