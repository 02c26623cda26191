"""Searches for arrays that lie in memory otherwise than NumPy's: random array programs on layouts.

``python -m tests.searches.orders --minutes 20``. A program is a few expressions, each of the names
before it, and writes through some of them. It is run on arrays of some layout, by NumPy and
compiled: elements, shapes, strides, and who shares memory with whom must be the same, but for
strides of what has gaps in NumPy and is no part of an argument. Traced, where it writes nothing,
elements and strides must be the same, or it is refused as `REFUSED` says. There an argument with
axes that are broadcast is one without, as docs/numpy.md has it.
"""

from __future__ import annotations

import random
import re
import warnings
from dataclasses import dataclass

import numpy as np

import zyg
from tests.modules import function
from tests.searches.search import Search, in_machine_code, main
from zyg.errors import CompileError, ConversionError

SHAPES = [(3, 4), (4, 3), (2, 3, 4), (3, 2, 2), (4,), (1, 3), (3, 1), (2, 1, 3), (0, 3), (2, 2)]
# Of one array; those behind the first three change its shape.
SAME = [
    "{a} * 2.0", "{a} + 1", "-{a}", "np.sqrt(np.abs({a}))", "{a} * {a}.copy()",
    "{a} + np.copy({a})", "{a}.copy()", "np.copy({a})", "np.array({a})", "{a}.copy('F')",
    "np.asfortranarray({a})", "np.ascontiguousarray({a})", "{a}.astype(np.float32)",
    "{a}.astype(float)", "np.zeros_like({a})", "np.ones_like({a}, order='C')",
    "np.full_like({a}, 3.0)", "np.where({a} > 4, {a}, 0.0)", "np.where({a} > 4, {a}.copy(), {a})",
    "np.clip({a}, 2, 9)", "{a}[::-1]", "{a}[...]", "np.roll({a}, 1, 0)", "np.cumsum({a}, 0)",
    "np.cumsum({a}, -1)", "np.sort({a}, 0)", "np.sort({a})", "np.maximum.accumulate({a}, 0)",
    "np.flip({a}, 0)", "np.asarray({a})", "{a}.reshape({a}.shape, order='F')",
    "np.argsort({a}, 0, kind='stable')",
    "np.asarray({a}, float)", "np.zeros({a}.shape, order='F') + {a}", "{a}.clip(1)",
    "np.isfinite({a})", "{a} * 1j",
]  # fmt: skip
OTHER = [
    "{a}.T", "{a}.T", "{a}.swapaxes(0, -1)", "np.moveaxis({a}, 0, -1)", "np.transpose({a})",
    "{a}.ravel()", "{a}.ravel(order='F')", "{a}.ravel(order='K')", "{a}.T.ravel()", "{a}.flatten()",
    "np.ravel({a}, 'A')", "{a}.reshape(-1)", "{a}.T.reshape(-1)", "{a}.reshape(-1, order='F')",
    "{a}.reshape(1, -1)", "{a}.reshape(-1, 1)", "{a}.reshape({a}.shape + (1,))", "{a}.flatten('K')",
    "{a}[None]", "{a}[..., None]", "{a}[1:]", "{a}[..., 1:]", "{a}[..., ::2]", "{a}[:1]",
    "{a}[0:2]", "np.expand_dims({a}, 0)", "np.concatenate([{a}, {a}])",
    "np.concatenate([{a}, {a}], -1)", "np.stack([{a}, {a}])", "np.stack([{a}, {a}], -1)",
    "np.stack([{a}, {a}], 1)", "np.array([{a}, {a}])", "np.vstack([{a}, {a}])",
    "np.repeat({a}, 2, 0)", "np.repeat({a}, 2, -1)", "np.tile({a}, 2)", "{a}[[0, 0]]",
    "{a}[..., [0, 0]]", "{a}.sum(0)", "{a}.sum(-1)", "{a}.max(-1, keepdims=True)",
    "{a}.mean(0, keepdims=True)", "np.diff({a}, axis=0)", "np.diff({a})", "{a}[{a} > 3]",
    "{a} * {a}[:1]", "{a} + np.ones(2)[:, None, None, None]", "np.multiply.outer({a}, np.ones(2))",
    "np.squeeze({a})", "np.broadcast_to({a}, (2,) + {a}.shape)", "np.append({a}, {a}, 0)",
    "np.outer({a}, np.ones(2))", "np.einsum('...i->...i', {a})",
]  # fmt: skip
TWO = [  # of two axes
    "{a} @ {a}.T", "{a}.T @ {a}", "np.dot({a}.T, {a})", "np.einsum('ij->ji', {a})",
    "np.einsum('ij,ij->ij', {a}, {a})", "np.einsum('ij,kj->ik', {a}, {a})", "{a}[:, ::2]",
    "{a}[:, 0]", "{a}[0]", "np.tril({a})", "np.diagonal({a})", "{a}[:, [0]]", "{a}[[0, 0], :1]",
    "np.tensordot({a}, {a}.T, 1)", "{a}.T + {a}.T * 2", "np.vander({a}[0], 3)",
    "np.take_along_axis({a}, np.argsort({a}, 0), 0)",
]  # fmt: skip
THREE = [
    "{a}.transpose(1, 0, 2)", "{a}.transpose(2, 0, 1)", "{a}.transpose(0, 2, 1)", "{a}.sum(1)",
    "{a}.max(1)", "np.var({a}, 1)", "{a} @ {a}.swapaxes(1, 2)",
    "np.einsum('ijk,ijk->ik', {a}, {a})", "{a}[:, [0, 0]]", "{a}[:, 0]", "{a}[0]", "{a}[..., 0]",
    "{a}.reshape({a}.shape[0], -1)", "{a}.reshape(-1, {a}.shape[2])", "np.concatenate({a})",
    "{a}.argmax(1)", "{a}.transpose(1, 0, 2) * {a}[0]",
]  # fmt: skip
WRITES = [
    "{a} += 1.0", "{a} *= 2.0", "{a}[0] = 7.0", "{a}[...] = 3.0", "{a}[..., 0] = -1.0",
    "np.multiply({a}, 2.0, out={a})", "{a}[:1] *= 3.0", "np.add({a}.T, 1.0, out={a}.T)",
]  # fmt: skip
LAYOUTS = [
    "C", "F", "permuted", "gaps", "backwards", "F with gaps", "inner gaps", "broadcast", "read-only"
]  # fmt: skip


def laid_out(layout: str, shape: tuple[int, ...]) -> np.ndarray:
    """An array of a shape whose elements lie in memory in some way."""
    rng = np.random.default_rng(3)
    x, n = rng.permutation(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape), len(shape)
    if layout == "broadcast":
        return np.broadcast_to(x[:1].copy(), shape)
    orders = {"F": range(n)[::-1], "F with gaps": range(n)[::-1], "permuted": [*range(1, n), 0]}
    order = [*orders.get(layout, range(n))]
    wide = 2 if "gaps" in layout else 1
    outer = 1 if layout == "inner gaps" else wide
    memory = np.zeros([x.shape[k] * (outer if k == order[0] else wide) for k in order])
    whole = memory.transpose(np.argsort(order))
    steps = [outer if k == order[0] else wide for k in range(n)]
    made = whole[tuple(slice(None, None, -1 if layout == "backwards" else step) for step in steps)]
    made[...] = x
    made.flags.writeable = layout != "read-only"
    return made


@dataclass
class Case:
    lines: list[str]
    names: list[str]
    layout: str
    shape: tuple[int, ...]
    writes: bool

    def text(self) -> str:
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"import numpy as np\n\ndef f(a):\n{body}    return {', '.join(self.names)},\n"

    def __str__(self) -> str:
        return f"{self.layout} {self.shape}\n{self.text()}"


def case(number: int) -> Case:
    """A program that NumPy runs, on arrays of some layout."""
    for attempt in range(100):
        found = _drawn(random.Random(f"{number} {attempt}"))
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("error")
                function(found.text())(laid_out(found.layout, found.shape))
        except Exception:
            continue
        return found
    raise AssertionError("no program")


def _drawn(rnd: random.Random) -> Case:
    shape, layout = rnd.choice(SHAPES), rnd.choice(LAYOUTS)
    names, lines, axes = ["a"], [], {"a": len(shape)}
    for k in range(rnd.randint(1, 4)):
        a = names[-1] if rnd.random() < 0.7 else rnd.choice(names)
        rows = {2: TWO, 3: THREE}.get(axes[a], OTHER)
        text = rnd.choice(rnd.choice([SAME, OTHER, rows])).format(a=a)
        name = "bcde"[k]
        lines.append(f"{name} = {text}")
        names.append(name)
        try:
            scope = {"np": np, "a": laid_out("C", shape)}
            exec("\n".join(lines), scope)
            axes[name] = np.ndim(scope[name])
        except Exception:
            axes[name] = 2
    writes = layout not in ("broadcast", "read-only") and rnd.random() < 0.5
    count = rnd.randint(1, 2) if writes else 0
    lines += [rnd.choice(WRITES).format(a=rnd.choice(names)) for _ in range(count)]
    return Case(lines, names, layout, shape, writes)


_OBJECTS = r"np\.(as\w*)?array\("  # which makes an array of objects of watched numbers
# What is refused, traced, by how the message begins: what the program must have in it for that.
REFUSED = {
    "np.asarray of a watched ndarray": r"np\.asarray\(\w, float\)",
    'order="K" of a watched array, beside': "K'",
    'order="A" of a watched array, beside': "'A'",
    "float(x) of a watched float64": rf"{_OBJECTS}.*\.astype\(",
    "an object array of watched numbers": _OBJECTS,
}


def check(case: Case) -> str:
    f = function(case.text())
    mine = [laid_out(case.layout, case.shape) for _ in range(2)]
    said = ""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = f(mine[0])
        if not case.writes:
            said = traced(f, mine[1], case, f(mine[1].copy()) if is_broadcast(case) else wanted)
        compiled = zyg.compile(f)

        def run():
            x = laid_out(case.layout, case.shape)
            found = compiled(x)
            return x, found

        try:
            for _ in range(2):
                same(*in_machine_code(run), mine[0], wanted, case)
        except CompileError as error:
            return f"refused: {str(error).partition(' [')[0][-70:]}{said}"
    return f"same{said}"


def is_broadcast(case):
    return case.layout == "broadcast"


def traced(f, x, case, wanted):
    """Compare values under a derivative with NumPy's."""
    try:
        found = zyg.pullback(f, x)[0]
    except ConversionError as error:
        known = [text for start, text in REFUSED.items() if str(error).startswith(start)]
        fits = known and re.search(known[0], case.text(), re.DOTALL)
        if fits and (is_broadcast(case) or "beside" not in str(error)):
            return ", traced: refused"
        raise AssertionError(f"{error}\n{case}") from error
    for name, y, z in zip(case.names, found, map(np.asarray, wanted), strict=True):
        laid = np.asarray(y)
        values = np.array(y, z.dtype)  # of objects, after np.array(a)
        np.testing.assert_allclose(values, z, rtol=1e-6, err_msg=f"traced {name}\n{case}")
        if z.size and is_dense(z):
            assert steps(laid, laid.itemsize) == steps(z, z.itemsize), f"traced {name}\n{case}"
    return ", traced too"


def same_elements(found, wanted, case, how) -> None:
    for name, y, z in zip(case.names, found, wanted, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-6, err_msg=f"{how} {name}\n{case}")
        assert np.shape(y) == np.shape(z), f"{how} {name}: shape\n{case}"
        assert np.asarray(y).dtype == np.asarray(z).dtype, f"{how} {name}: type\n{case}"
        if isinstance(z, np.ndarray) and z.size and is_dense(z):
            assert steps(y) == steps(z), f"{how} {name}: strides {y.strides}, {z.strides}\n{case}"


def same(mine, found, theirs, wanted, case) -> None:
    np.testing.assert_allclose(mine, theirs, err_msg=f"the argument\n{case}")
    same_elements(found, wanted, case, "compiled")
    for j, (y, z) in enumerate(zip(found, wanted, strict=True)):
        if isinstance(z, np.ndarray) and z.size:
            shared = np.shares_memory(z, theirs)
            assert np.shares_memory(y, mine) == shared, f"{case.names[j]} and a\n{case}"
            assert y.flags.writeable == z.flags.writeable, f"{case.names[j]} is writeable\n{case}"
            for k in range(j):
                both = np.shares_memory(z, wanted[k])
                assert np.shares_memory(y, found[k]) == both, f"{case.names[j]}, {k}\n{case}"
            if shared:
                assert steps(y) == steps(z), f"{case.names[j]}: strides\n{case}"


def steps(x, unit=1) -> list[int]:
    return [step // unit for n, step in zip(x.shape, x.strides, strict=True) if n > 1]


def is_dense(x) -> bool:
    order = sorted(range(x.ndim), key=lambda k: (-abs(x.strides[k]), k))
    return x.transpose(order).flags.c_contiguous


SEARCH = Search(case, check, gate=20)

if __name__ == "__main__":
    main(SEARCH, __doc__)
