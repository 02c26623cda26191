"""The one interception point: every call on watched values meets in `bind`.

`bind` finds the newest level among the arguments, unwraps that level's values only, asks the rule,
and notes an entry on the strand. The rule runs one level further out: if the unwrapped values are
watched there, its own operations are noted there. That is all of nesting.

What a rule must give back is fixed when it is called: each watched operand whose cotangent cannot
be used as it comes (another shape, dtype or field of numbers than the result) gets a `spec`, and
`project` brings the cotangent to it. A real operand thus always gets a real cotangent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg import _registry
from zyg._registry import CONSTANT, Adjoint, Composed, ScalarRule, rules
from zyg._reverse import Run, float_dtype
from zyg._strand import TRACED, Strand, innermost, settle, strip, watch, watcher_of
from zyg._structure import Structure, is_number
from zyg.errors import AdjointError, MissingRuleError, StructureError
from zyg.scalar_rules import is_complex

Spec = Any  # what a cotangent must look like: (shape, dtype) of an array, or the type of a number

_PLAIN = (type(None), bool, str, int, float, complex, np.ndarray, slice, type, np.dtype)
_BUILTIN = {type(None), int, float, complex, np.float64, np.complex128}
_FLOAT64 = np.dtype(np.float64)
_REAL = {_FLOAT64, np.dtype(np.float32)}


# Cotangents


def spec_of(x: Any) -> Spec:
    """The shape and dtype of an array, the type of a number."""
    plain = strip(x)
    if isinstance(plain, np.ndarray):
        return plain.shape, float_dtype(plain.dtype)
    return type(plain)


def project(c: Any, spec: Spec) -> Any:
    """The cotangent `c` as a cotangent of what `spec` describes: its shape, dtype, field."""
    if type(spec) is tuple:
        shape, dtype = spec
        if np.shape(c) != shape:
            c = unbroadcast(c, shape)
        if getattr(c, "dtype", None) is not dtype:
            c = _as_dtype(c, dtype)
        return c
    if type(c) not in TRACED:
        if isinstance(c, np.ndarray):
            c = c.sum() if c.ndim else c[()]
        return _as_number(c, spec)
    if np.ndim(c):
        c = np.sum(c)
    return np.real(c) if _is_complex(c) and not issubclass(spec, complex) else c


def _is_complex(x: Any) -> bool:
    return is_complex(strip(x))


def _as_number(c: Any, kind: type) -> Any:
    """A plain number as a cotangent of a number of this type; an int counts as a real."""
    if isinstance(c, (complex, np.complexfloating)):
        if issubclass(kind, (complex, np.complexfloating)):
            return kind(c)
        c = c.real if hasattr(kind, "real") and not hasattr(kind, "_mpc_") else c
    if kind is int or issubclass(kind, np.integer):
        return float(c) if isinstance(c, (int, np.number)) else c
    if type(c) is kind:
        return c
    try:
        return kind(c)  # type: ignore[call-arg]
    except TypeError:  # a number type that is not made from any other, or from this one
        return c


def _as_dtype(c: Any, dtype: np.dtype[Any]) -> Any:
    if _is_complex(c) and dtype.kind != "c":
        c = np.real(c)
    if type(c) in TRACED:
        return c if np.shape(c) else np.reshape(c, ())
    return np.asarray(c, dtype=dtype)


def unbroadcast(c: Any, shape: tuple[int, ...]) -> Any:
    """The sum of `c` over the axes along which an operand of this shape was broadcast."""
    have = np.shape(c)
    if len(have) < len(shape) or (have != shape and np.broadcast_shapes(have, shape) != have):
        return np.broadcast_to(c, shape)
    extra = len(have) - len(shape)
    axes = tuple(range(extra)) + tuple(
        k + extra for k, n in enumerate(shape) if n == 1 and have[k + extra] != 1
    )
    c = np.sum(c, axis=axes) if axes else c
    return c if np.shape(c) == shape else np.reshape(c, shape)


# Elementwise functions


def elementwise(rule: ScalarRule, *args: Any) -> Any:
    """`rule.function(*args)`, noted with the partial derivatives of the table."""
    strand: Strand | None = None
    for x in args:
        if type(x) in TRACED:
            if not x.strand.open:
                return elementwise(rule, *map(settle, args))
            if strand is None or x.strand.level > strand.level:
                strand = x.strand
    if strand is None:
        return rule.function(*args)
    if len(args) != len(rule.partials):
        raise _wrong_call(rule.name, f"it takes {len(rule.partials)} arguments, not {len(args)}")
    primals = [x.primal if type(x) in TRACED and x.strand is strand else x for x in args]
    return _note_elementwise(rule, strand, args, primals, rule.function(*primals))


def elementwise_of_one(rule: ScalarRule, x: Any, constant: Any, k: int) -> Any:
    """The short path of `elementwise`: `x`, in place k of one or two, is the only watched operand.

    Where everything is a plain float array of one shape and dtype, the entry is
    (out, None, partial, slot, (arguments of the partial)): no closure, no projection.
    """
    strand, primal = x.strand, x.primal
    if type(primal) is not np.ndarray or not strand.open:
        return elementwise(
            rule, *((x, constant) if k == 0 else (constant, x))[: len(rule.partials)]
        )
    partial, reads = rule.partials[k], rule.saves[k]
    if len(reads) == 2:
        y = rule.function(primal)
        saved: Any = (primal if reads[0] else None, y if reads[1] else None)
    else:
        first, second = (primal, constant) if k == 0 else (constant, primal)
        y = rule.function(first, second)
        saved = (first if reads[0] else None, second if reads[1] else None, y if reads[2] else None)
    if type(y) is np.ndarray:
        dtype = y.dtype
        if dtype is primal.dtype and dtype in _REAL and y.shape == primal.shape:
            watched = type(x)()
            watched.primal = y
            watched.strand = strand
            watched.slot = out = strand.new_slot()
            strand.note((out, None, partial, x.slot, saved if callable(partial) else None))
            return watched
    args = (x,) if len(reads) == 2 else (x, constant) if k == 0 else (constant, x)
    primals = [primal if a is x else a for a in args]
    return _note_elementwise(rule, strand, args, primals, y)


def _note_elementwise(
    rule: ScalarRule, strand: Strand, args: Sequence[Any], primals: list[Any], y: Any
) -> Any:
    if type(y) not in watcher_of and (y is NotImplemented or not is_number(y)):
        return y
    arrays = type(y) is np.ndarray
    shape, dtype = (y.shape, y.dtype) if arrays else ((), None)
    plain = arrays and dtype in _REAL
    saved: list[Any] = [None] * (len(args) + 1)
    active = []
    for k, x in enumerate(args):
        if type(x) in TRACED and x.strand is strand:
            p = primals[k]
            alike = plain and type(p) is np.ndarray and p.dtype is dtype and p.shape == shape
            active.append((x.slot, rule.partials[k], None if alike else spec_of(p)))
            for place, read in enumerate(rule.saves[k]):
                if read:
                    saved[place] = y if place == len(primals) else primals[place]
    if not arrays and all(type(v) in _BUILTIN for v in (y, *primals)):
        saved = [_as_numpy(v) for v in saved]
    alike = all(spec is None for _, _, spec in active)
    conjugate = not alike and any(map(_is_complex, (y, *primals)))
    return note(strand, y, _elementwise_pullback, active, saved, conjugate)


def _elementwise_pullback(
    run: Run, y_bar: Any, active: list[Any], saved: list[Any], conjugate: bool
) -> list[tuple[int, Any]]:
    bars = []
    for slot, partial, spec in active:
        d = partial(*saved) if callable(partial) else partial
        if conjugate and _is_complex(d):
            d = np.conjugate(d)
        c = y_bar if type(d) is int and d == 1 else run.times(y_bar, d)
        bars.append((slot, c if spec is None else project(c, spec)))
    return bars


def _as_numpy(x: Any) -> Any:
    """Python's numbers as NumPy's, for which 1 / 0 is inf and not an exception."""
    t = type(x)
    return np.float64(x) if t is float or t is int else np.complex128(x) if t is complex else x


# Functions with an adjoint


def call_adjoint(rule: Adjoint, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """`rule` applied: its value, watched, with its pullback noted."""
    if kwargs:
        args, kwargs = _positional(rule, args, kwargs)
    places: list[tuple[int, Structure | None, list[Any]]] = []
    for k, x in enumerate(args):
        if type(x) in TRACED:
            places.append((k, None, [x]))
        elif type(x) not in _PLAIN and (rule.own or type(x) in (list, tuple)):
            inside = Structure(x, _is_watched)
            if inside.leaves:
                places.append((k, inside, inside.leaves))
    values = [x for _, _, leaves in places for x in leaves]
    strand = innermost([settle(x) for x in values])
    primals = list(args)
    active: list[tuple[int, Structure | None, list[tuple[int, Spec] | None]]] = []
    for k, container, leaves in places:
        unwrapped = [settle(x) for x in leaves]
        slots: list[tuple[int, Spec] | None] = []
        for n, x in enumerate(unwrapped):
            if type(x) in TRACED and x.strand is strand:
                unwrapped[n] = x.primal
                slots.append((x.slot, spec_of(x.primal)))
            else:
                slots.append(None)
        primals[k] = container.rebuild(unwrapped) if container else unwrapped[0]
        active.append((k, container, slots))
    if strand is None and not rule.own:
        return rule.key(*primals, **kwargs)
    made = rule.rule(*primals, **kwargs)
    if not (isinstance(made, tuple) and len(made) == 2 and callable(made[1])):
        raise AdjointError(
            f"the rule {rule.name} returned {type(made).__name__}, not (y, pullback).",
            "a rule returns the value of its function and the function's pullback.",
            "return y, pullback   (and write zyg.adjoint(f) to give a rule to another function f)",
        )
    y, pullback = made
    if strand is None:
        return y
    return note(strand, y, _adjoint_pullback, rule, pullback, active, len(args))


def _adjoint_pullback(
    run: Run,
    y_bar: Any,
    rule: Adjoint,
    pullback: Callable[[Any], Any],
    active: list[tuple[int, Structure | None, list[tuple[int, Spec] | None]]],
    count: int,
) -> list[tuple[int, Any]]:
    """What a rule's pullback contributes to the slots of its watched operands."""
    bars = pullback(y_bar)
    if not isinstance(bars, tuple):
        raise _broken(rule, f"its pullback returned {type(bars).__name__}, not a tuple")
    most = count if rule.variadic else rule.most
    least = count if rule.variadic else max(rule.least, 1 + active[-1][0])
    if not least <= len(bars) <= most:
        needed = f"{least}" if least == most else f"{least} to {most}"
        raise _broken(
            rule, f"its pullback returned {len(bars)} cotangents where {needed} are needed"
        )
    contributions = []
    for k, inside, slots in active:
        c = bars[k]
        if callable(c):
            c = c()
        if c is None:
            continue
        parts = [(0, c)] if inside is None else inside.match(c, f"argument {k} of {rule.name}")
        for place, part in parts:
            if (target := slots[place]) is not None and part is not None:
                slot, spec = target
                contributions.append((slot, _checked(rule, k, part, spec)))
    return contributions


def _checked(rule: Adjoint, k: int, c: Any, spec: Spec) -> Any:
    """A rule's cotangent, of the shape of its argument or refused."""
    if type(spec) is tuple:
        shape, dtype = spec
        if type(c) is np.ndarray and c.shape == shape and c.dtype is dtype:
            return c
    else:
        shape = ()
    if np.shape(c) != shape:
        got, needed = np.shape(c), shape
        raise _broken(rule, f"the cotangent of argument {k} has shape {got}; its argument {needed}")
    return project(c, spec)


def _broken(rule: Adjoint, what: str) -> AdjointError:
    code = getattr(rule.rule, "__code__", None)
    place = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    return AdjointError(
        f"the rule of {rule.name}{place} broke its contract: {what}.",
        "a pullback returns a tuple with one cotangent per positional argument: a value of that "
        "argument's shape, None, or a function of no arguments that returns it.",
        "mend the rule; zyg.check_adjoint(f, *args) tests all that a rule promises.",
    )


def _positional(
    rule: Adjoint | Composed, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same call with as few keywords as the rule's signature allows."""
    try:
        call = rule.signature.bind(*args, **kwargs)
    except TypeError:
        unknown = [k for k in kwargs if k not in rule.signature.parameters]
        if not unknown or getattr(rule, "own", False):
            raise
        why = f"its rule does not know the keyword {unknown[0]!r}"
        raise _wrong_call(rule.name, why) from None
    call.apply_defaults()
    if isinstance(rule, Adjoint) and Structure(call.kwargs, _is_watched).leaves:
        raise _wrong_call(rule.name, "a keyword-only argument of it is watched")
    return call.args, call.kwargs


def _wrong_call(name: str, why: str) -> MissingRuleError:
    return MissingRuleError(
        f"{name} cannot be differentiated with these arguments: {why}.",
        "a rule computes the derivative for the arguments it knows; the others would be ignored.",
        f"call {name} without it, or write a rule for your case with zyg.adjoint.",
    )


def _is_watched(x: Any) -> bool:
    return type(x) in TRACED


# Results


def note(strand: Strand, y: Any, pull: Callable[..., Any], *args: Any) -> Any:
    """`y`, its numbers and arrays watched, reversed by ``pull(run, y_bar, *args)``.

    `pull` is a function of the module and not a closure, because the tape may have a million of
    them and the cyclic collector would walk every cell.
    """
    cls = watcher_of.get(type(y))
    if cls is not None:
        watched = cls()
        watched.primal = y
        watched.strand = strand
        watched.slot = out = strand.new_slot()
        strand.note((out, None, pull, None, args))
        return watched
    result = Structure(y, is_result)
    if not result.leaves:
        return y
    if result.repeated:
        raise StructureError(
            "a rule returned the same container in two places.",
            "each place has a cotangent of its own, and a shared container has room for one.",
            "return two containers: copy one of them.",
        )
    slots = tuple(strand.new_slot() for _ in result.leaves)
    specs = [spec_of(x) for x in result.leaves]
    strand.note((slots, None, _gather, None, (result, specs, pull, args)))
    return result.rebuild([watch(strand, x, s) for x, s in zip(result.leaves, slots, strict=True)])


def _gather(
    run: Run, bars: list[Any], result: Structure, specs: list[Spec], pull: Any, args: Any
) -> Any:
    """The pullback of several results at once: zeros stand in where nothing flows."""
    full = [zeros_of(s) if c is None else c for c, s in zip(bars, specs, strict=True)]
    return pull(run, result.rebuild(full), *args)


def is_result(x: Any) -> bool:
    """Whether a result is watched: a number or a numeric array, plain or of an outer level."""
    if type(x) in TRACED:
        return True
    return x.dtype.kind in "fciu" if isinstance(x, np.ndarray) else is_number(x)


def zeros_of(spec: Spec) -> Any:
    """The zero cotangent of what `spec` describes."""
    if type(spec) is tuple:
        return np.zeros(*spec)
    return 0.0 if spec is int or issubclass(spec, np.integer) else spec(0)


# The interception point


def bind(f: Any, args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Any:
    """`f(*args, **kwargs)` by the rule of `f`; a function without rule raises MissingRuleError."""
    rule = f if isinstance(f, (Adjoint, ScalarRule)) else rules.get(f)
    kwargs = kwargs or {}
    if rule is CONSTANT:
        plain = functools.partial(_plain, strip)
        return f(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
    if isinstance(rule, Adjoint):
        return call_adjoint(rule, args, kwargs)
    if isinstance(rule, ScalarRule):
        if kwargs:
            raise _wrong_call(
                rule.name, f"its rule does not know the keyword {next(iter(kwargs))!r}"
            )
        return elementwise(rule, *args)
    values = Structure((args, kwargs), _is_watched)
    if innermost([settle(x) for x in values.leaves]) is None:
        args, kwargs = values.rebuild([settle(x) for x in values.leaves])
        return f(*args, **kwargs)
    if isinstance(rule, Composed):
        if kwargs:
            args, kwargs = _positional(rule, args, kwargs)
        return rule.function(*args, **kwargs)
    raise _missing(f)


def _plain(unwrap: Callable[[Any], Any], x: Any) -> Any:
    if type(x) in TRACED:
        return unwrap(x)
    if type(x) in (list, tuple, dict):
        inside = Structure(x, _is_watched)
        return inside.rebuild([unwrap(v) for v in inside.leaves]) if inside.leaves else x
    return x


def _missing(f: Any) -> MissingRuleError:
    module = "np" if isinstance(f, np.ufunc) else (getattr(f, "__module__", None) or "np")
    short = module.replace("numpy", "np")
    name = getattr(f, "__name__", repr(f))
    return MissingRuleError(
        f"{short}.{name} has no rule, so zyg cannot differentiate it.",
        "only functions with a rule can be called on watched values; the derivative of any other "
        "would be lost.",
        "write its rule, or declare it constant with zyg.nondifferentiable(f):\n"
        f"    @zyg.adjoint({short}.{name})\n"
        f"    def {name}(x):\n"
        f"        y = {short}.{name}(x)\n"
        f"        def {name}_pullback(y_bar):\n"
        f"            return (...,)          # one cotangent per argument\n"
        f"        return y, {name}_pullback",
    )


_registry.intercept = bind  # type: ignore[assignment]

__all__ = ["StructureError", "bind", "call_adjoint", "elementwise", "note", "project", "spec_of"]
