"""`vmap`: a function of one example, of many at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from numbers import Number
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from zyg.base.array_types import Run, array_type, lifting, undone
from zyg.base.borders import border
from zyg.base.config import setting
from zyg.base.marks import made_by, maker_of, name_of, verb
from zyg.base.registry import adjoint, own_verbs
from zyg.base.structure import is_number
from zyg.base.trees import taken_apart
from zyg.base.warned import warn_once
from zyg.core.duals import finds_pattern
from zyg.core.strand import active, is_watched, strip
from zyg.errors import ArgumentError, StructureError, ZygError, is_ours, raising_line
from zyg.interop.batch_words import Apart, Batch
from zyg.interop.batches import BATCHES

# Into a batch, and out of it


@adjoint
def into(x: Any, axis: int) -> Any:
    """An array with an axis for the examples, as a batch."""

    def into_pullback(y_bar: Any, strong: bool = False) -> Any:
        return np.moveaxis(out_of(y_bar, np.shape(x)[axis]), 0, axis), None

    return BATCHES.guest(Batch(np.moveaxis(x, axis, 0) if axis else x[:])), into_pullback


@adjoint
def out_of(y: Any, count: int, copied: bool = False) -> Any:
    """A batch as an array whose first axis is for so many examples."""

    def out_pullback(y_bar: Any, strong: bool = False) -> Any:
        return into(y_bar, 0), None, None

    a = y.raw.array
    if copied or len(a) != count or a.base is not None:
        a = np.array(np.broadcast_to(a, (count, *a.shape[1:])))
    return a, out_pullback


@adjoint
def shared(x: Any) -> Any:
    """What all examples have, as a batch."""

    def shared_pullback(y_bar: Any, strong: bool = False) -> Any:
        return (summed(y_bar, np.shape(x)),)

    return BATCHES.guest(Batch(np.asarray(x)[None])), shared_pullback


@adjoint
def summed(y: Any, shape: Any) -> Any:
    """The sum of what the examples have."""

    def summed_pullback(y_bar: Any, strong: bool = False) -> Any:
        return shared(y_bar), None

    return y.raw.array.sum(axis=0), summed_pullback


for _rule in (into, out_of, shared, summed):
    _rule.linear, _rule.strong = (0,), True  # no product: zeros stay as they are


def lifted(x: Any) -> Any:
    """A number or an array that meets batches, and whose derivative each example has for itself."""
    plain = strip(x)
    known = bool(array_type(plain).library) or isinstance(plain, bool)
    if known or not isinstance(plain, (Number, np.ndarray)):
        return x
    return shared.rule(x)[0] if plain is x else shared(x)


# The verb


@verb
@border
def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: int = 0) -> Callable[..., Any]:
    """`f`, a function of one example, as one of many: it maps along an axis of its arguments.

    f runs once, with all examples, where every function that it calls can take them along an axis
    that f does not see: NumPy's functions that have a rule, and zyg's verbs, so that
    ``vmap(grad(loss))`` has a gradient for each example. Where a value decides what is done next,
    it runs once for all examples that go the same way; for other calls, and of many ways, once for
    each example, after a `PerformanceWarning` that says why. The first time that it has run for
    all, it runs for the first example alone: a function that gives something else then, as one that
    asks for ``type(x)``, runs for each. Of a compiled f, or a gradient of one, it is a loop of
    machine code over the examples, as ``compile(vmap(f))`` is. The results are those of the loop,
    but for rounding. What f does besides, as printing, drawing random numbers or writing to what it
    holds, happens as often as f runs: pass it in.

    Parameters
    ----------
    f : callable
        Of one example. What it holds, and keyword arguments, are the same for all.
    in_axes : int, None, or a container of those
        Along which axis of each array the examples are; None for what is the same for all. An int
        or None for all arguments, or a tuple of one for each; for an argument that is a container,
        one for all that it holds, or a container like it.
    out_axes : int, default 0
        Where the axis of the examples is in each array that is returned.

    Returns
    -------
    callable
        Returns what f does, in the same containers, with the axis of the examples; what is no
        number, as None or a string, stays as it is, and has to be the same for all.

    Raises
    ------
    ArgumentError
        For arguments that have no such axis, or along which there are not as many examples.
    StructureError
        f returns something else for other examples.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> def loss(w, x, y):
    ...     return (np.dot(w, x) - y) ** 2
    >>> w, xs, ys = np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.0, 3.0]]), np.array([0.0, 5.0])
    >>> zyg.vmap(zyg.grad(loss), (None, 0, 0))(w, xs, ys)
    array([[2., 0.],
           [0., 6.]])
    """

    inner, makers = _inside(f)
    known = _same.setdefault(inner, set()) if isinstance(inner, FunctionType) else set[Any]()

    @functools.wraps(f)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise _refused(f"in_axes={in_axes!r} for {len(args)} arguments", "an axis for each")
        given = [_Argument(x, axis, k) for k, (x, axis) in enumerate(zip(args, axes, strict=True))]
        count = _count(given)
        alone = lifting.get() is not None or any(map(finds_pattern, active.get()))
        if not alone and type(f) not in own_verbs:
            try:
                found, ways = _at_once(f, given, kwargs, count, out_axes)
                kinds = makers, *(kind for x in given for kind in x.kinds())
                for k, way in ways.items():
                    if (kinds, way) not in known:
                        _demand_same(f, given, kwargs, found, out_axes, k)
                        known.add((kinds, way))
                return found
            except Exception as error:
                _say(f, count, error)
        rows = [f(*(x.example(k) for x in given), **kwargs) for k in range(count)]
        return _joined(f, rows, out_axes)

    made = made_by("vmap", mapped, in_axes, out_axes)
    own = own_verbs.get(type(inner), {}).get("vmap")
    return own(inner, made) if own else made


def _inside(f: Any) -> tuple[Any, str]:
    """The function of which verbs made `f`, and which verbs."""
    makers = []
    while (maker := maker_of(f)) is not None:
        makers.append(maker)
        f = f.__wrapped__
    return f, repr(makers)


_TRUTHS = bool, np.bool_
_FEW = 8  # examples for each run, on average: fewer go the same way than are worth it


def _is_leaf(x: Any) -> bool:
    known = type(x) is np.ndarray or bool(array_type(x).library) or is_watched(x)
    return known or isinstance(x, (np.ndarray, np.generic)) or is_number(x)


def _alike(x: Any, y: Any) -> bool:
    """Whether what is no number is the same in two results."""
    if type(x) is not type(y):
        return False
    if isinstance(x, (list, tuple)):
        return len(x) == len(y) and all(map(_alike, x, y))
    if isinstance(x, dict):
        return x.keys() == y.keys() and all(_alike(x[key], y[key]) for key in x)
    return x is y or bool(x == y) or (bool(_fields(x)) and _alike(_fields(x), _fields(y)))


def _fields(x: Any) -> dict[str, Any]:
    return getattr(x, "__dict__", {})


class _Argument:
    """What is given for an argument, and the axes of the examples in its arrays."""

    def __init__(self, x: Any, axis: Any, place: int) -> None:
        self.structure = taken_apart(x, _is_leaf)
        self.name = f"argument {place}"
        leaves = self.structure.leaves
        self.axes: list[Any] = [None] * len(leaves)
        if isinstance(axis, (tuple, list, dict)):
            found = self.structure.match(axis, f"in_axes of {self.name}")
        else:
            found = [(k, axis) for k in range(len(leaves))]
        for k, axis in found:
            if axis is None:
                continue
            if not isinstance(axis, (int, np.integer)):
                raise _refused(
                    f"{axis!r} as the axis of {self.named(k)}",
                    "an int or None; in_axes of several arguments is a tuple",
                )
            ndim = np.ndim(leaves[k])
            if not -ndim <= axis < ndim:
                raise _refused(
                    f"{self.named(k)} has no axis {axis}, but the shape {np.shape(leaves[k])}",
                    "None in in_axes for what is the same for all examples",
                )
            self.axes[k] = axis % ndim

    def named(self, k: int) -> str:
        return self.name + self.structure.paths()[k]

    def counts(self) -> list[tuple[_Argument, int, int]]:
        """How many examples there are in each array, which is named by this and its number."""
        pairs = enumerate(zip(self.structure.leaves, self.axes, strict=True))
        return [(self, k, np.shape(x)[axis]) for k, (x, axis) in pairs if axis is not None]

    def example(self, k: int) -> Any:
        """One example."""
        return self._each(lambda x, axis: x[(*(slice(None),) * axis, k)])

    def plain(self, k: int) -> Any:
        """One example, not watched, in memory of its own."""
        leaves = [*map(strip, self.structure.leaves)]
        pairs = zip(leaves, self.axes, strict=True)
        mine = [x if axis is None else x[(*(slice(None),) * axis, k)] for x, axis in pairs]
        return self.structure.rebuild([
            x.copy() if isinstance(x, np.ndarray) else x for x in mine
        ])  # fmt: skip

    def kinds(self) -> list[Any]:
        return [(np.ndim(x), getattr(x, "dtype", type(x))) for x in self.structure.leaves]

    def batch(self, which: Any) -> Any:
        """Those of them, or all."""

        def chosen(x: Any, axis: int) -> Any:
            if which is not None:
                x = x[(*(slice(None),) * axis, which)]
            return into(x, axis) if is_watched(x) else into.rule(x, axis)[0]

        return self._each(chosen)

    def _each(self, make: Callable[[Any, int], Any]) -> Any:
        pairs = zip(self.structure.leaves, self.axes, strict=True)
        return self.structure.rebuild([x if axis is None else make(x, axis) for x, axis in pairs])


def _count(given: list[_Argument]) -> int:
    found = [each for x in given for each in x.counts()]
    if not found:
        raise _refused("no argument along an axis", "an axis in in_axes for one array at least")
    first, place, count = found[0]
    for x, k, n in found:
        if n != count:
            raise _refused(
                f"{first.named(place)} with {count} examples and {x.named(k)} with {n}",
                "arrays with as many examples each, or None in in_axes",
            )
    return count


def _at_once(
    f: Callable[..., Any], given: list[_Argument], kwargs: dict[str, Any], count: int, out_axes: int
) -> tuple[Any, dict[int, tuple[bool, ...]]]:
    """The results of all examples, by one run for each way that some of them go.

    And the first example of each way, with what was decided on it.
    """
    waiting, groups, results = [np.arange(count)], list[Any](), list[Any]()
    ways: dict[int, tuple[bool, ...]] = {}
    while waiting:
        which = waiting.pop()
        raised, before = Run(), lifting.set(None)
        noted = undone.set(raised)
        try:
            args = [x.batch(None if len(which) == count else which) for x in given]
            lifting.set(lifted)
            result = taken_apart(f(*args, **kwargs), _is_leaf, shared=False)
            failed = [*filter(_is_caught, raised)]
        except Exception as error:
            failed = [*(e for e in raised if e is not error), error]
        finally:
            raised.open = False
            undone.reset(noted)
            lifting.reset(before)
        if failed:
            for one in failed:
                if isinstance(one, ZygError):
                    one.loses = False  # each example asks for its own
            found = (getattr(e, "truths", None) for e in failed)
            truths = next((t for t in found if t is not None), None)
            if truths is None or len(groups) + len(waiting) >= count // _FEW:
                raise failed[-1]
            waiting += [which[~truths], which[truths]]
            continue
        taken: set[int] = set()
        result.leaves = [_leaving(y, len(which), taken) for y in result.leaves]
        groups.append(which)
        ways.update({int(k): tuple(raised.way) for k in which[:1]})
        results.append(result)
    return _put_together(f, results, groups, out_axes), ways


def _put_together(f: Any, results: list[Any], groups: list[Any], out_axes: int) -> Any:
    """The results of groups of examples as one, in the order of the examples."""
    columns = results[0].leaves
    if len(groups) > 1:
        _demand_alike(f, results, [int(which[0]) for which in groups], 1)
        order = np.argsort(np.concatenate(groups))
        parts = zip(*(x.leaves for x in results), strict=True)
        columns = [np.concatenate(column)[order] for column in parts]
    if out_axes:
        columns = [np.moveaxis(y, 0, out_axes) for y in columns]
    return results[0].rebuild(columns)


# Functions that gave the same, with the verbs around them, the kinds of arguments, and the ways.
_same: WeakKeyDictionary[Any, set[Any]] = WeakKeyDictionary()


def _demand_same(
    f: Callable[..., Any], given: list[_Argument], kwargs: dict[str, Any], found: Any, axis: int,
    k: int,
) -> None:  # fmt: skip
    """Refuse a function that gives something else for one example alone: it may ask for the type of
    a value, or catch what C code raises for many.
    """
    alone = _joined(f, [f(*(x.plain(k) for x in given), **kwargs)], axis)
    parts = [taken_apart(y, _is_leaf, shared=False) for y in (found, alone)]
    same = parts[0].paths() == parts[1].paths() and all(
        _near(np.moveaxis(strip(y), axis, 0)[k], np.moveaxis(strip(z), axis, 0)[0])
        for y, z in zip(*(x.leaves for x in parts), strict=True)
    )
    if not same:
        raise Apart("one example alone gives something else than many at once do")


def _near(x: Any, y: Any) -> bool:
    """Whether arrays are the same but for rounding."""
    if x.shape != y.shape or {x.dtype.kind, y.dtype.kind}.isdisjoint("fc"):
        return np.array_equal(x, y)
    rounding = np.finfo(np.result_type(x, y, np.float16)).eps ** 0.4
    size = np.max(np.abs(y), initial=0.0, where=np.isfinite(y))
    return np.allclose(x, y, rounding, rounding * size, equal_nan=True)


def _is_caught(error: Exception) -> bool:
    """Whether f may have heard of it: from C code that a batch told, perhaps in other words."""
    if isinstance(error, ZygError):
        return error.catcher() is not None
    came = error.__traceback__
    code = None if came is None else came.tb_frame.f_code
    return code is None or code.co_name == "asked" or not is_ours(code.co_filename)


def _leaving(y: Any, count: int, taken: set[int]) -> Any:
    """An array with the axis of the examples, in memory that no other result has."""
    if array_type(y) is BATCHES:
        plain = strip(y)
        copied = id(plain.raw.array) in taken
        taken.add(id(plain.raw.array))
        return out_of.rule(y, count, copied)[0] if plain is y else out_of(y, count, copied)
    return np.stack([y] * count) if is_watched(y) else np.array([y] * count)


def _joined(f: Callable[..., Any], rows: list[Any], axis: int) -> Any:
    """What f returned for each example, as one."""
    if not rows:
        raise _refused("no examples, of which nothing is known", "at least one")
    rows = [np.asarray(x) if isinstance(x, _TRUTHS) else x for x in rows]
    results = [taken_apart(x, _is_leaf, shared=False) for x in rows]
    _demand_alike(f, results, range(len(rows)), 0)
    columns = zip(*(x.leaves for x in results), strict=True)
    return results[0].rebuild([np.stack(column, axis) for column in columns])


def _demand_alike(f: Any, results: list[Any], examples: Sequence[int], axes: int) -> None:
    """Refuse results of some examples that differ, but for the first `axes` of their arrays."""
    facts = [
        ([np.shape(y)[axes:] for y in x.leaves], x.rebuild([None] * len(x.leaves))) for x in results
    ]
    for k, result in enumerate(results):
        if result.paths() != results[0].paths() or not _alike(facts[k], facts[0]):
            raise StructureError(
                f"{name_of(f)} returned something else for example {examples[k]} than for example "
                f"{examples[0]}.",
                "what vmap returns has the results of all examples in the same arrays.",
                "return arrays of the same shapes, in the same containers; or loop over them.",
            )


def _refused(what: str, fix: str) -> ArgumentError:
    return ArgumentError(
        f"vmap was given {what}.",
        "it maps along an axis that holds the examples, as many in each array.",
        f"pass {fix}.",
    )


def _say(f: Callable[..., Any], count: int, error: Exception) -> None:
    """Warn that f runs for each example, or raise why."""
    if setting("fallback") == "error":
        raise error
    why = str(error).partition("\n")[0].partition(" [")[0].rstrip(".")
    if not isinstance(error, (Apart, ZygError)) or "Guest" in why:
        why = "a step takes one example at a time"
    line = raising_line(error)
    inner, makers = _inside(f)
    warn_once(("vmap", getattr(inner, "__code__", inner), makers), lambda: (
        f"vmap runs {name_of(f)} once for each of {count} examples: {why}, at\n    {line}\n"
        "The result is the same. Write it in functions that take all at once, or give "
        "zyg.compile(f), whose loop is fast."
    ))  # fmt: skip
