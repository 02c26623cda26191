"""The ways in which zyg runs a call: what each gives, and how it is compared with the others.

`ENGINES` are functions of a `Case`. They return what came of it in a word, and raise `Wrong`
where an engine differs: from plain NumPy in values, types, exceptions and memory; from finite
differences in the derivatives of the tracer; from the tracer in those of all others.
"""

import functools
import itertools
from pathlib import Path

import numpy as np
import trio

import zyg
import zyg.trio
from zyg.compiling.inspection import known_call, running, stops
from zyg.errors import ZygError

from . import compare, slopes
from .case import (
    DROP_INS,
    FOLDER,
    compiled_of,
    forward_of,
    given,
    gradient_of,
    module_of,
    outcome,
    refused,
    reverse_of,
    second_of,
    tried,
)
from .compare import Wrong, demand_same, difference, quietly
from .guests import GUESTS
from .programs import is_real, moves


def _against(case, reference, f, what):
    """Compare a derivative with the tracer's."""
    if not case.differentiable:
        return "no derivative"
    right, why = given(reference, what)
    if right is None:
        return why
    try:
        found = quietly(f)
    except ZygError as error:
        return f"refused: {type(error).__name__}"
    # Of a result of 32 bits they have its digits, by a float as well.
    near = 2e-6 if compare.is_single([case.expected[1]]) else max(1e-8, case.near)
    demand_same(found, right, what, near)
    return "the same"


# The tracer


def traced(case):
    """Values under a gradient, in either mode: NumPy's, with their types and order in memory."""
    if not case.places:
        return "no derivative"
    for way in (_backward, _ahead):
        found = outcome(functools.partial(way, case), ())
        if found[0] == "raised":
            if refused(found[2]) or (way is _ahead and isinstance(case.pushed, found[1])):
                return "refused by the tracer"
            if case.expected[0] == "raised":
                continue
            raise Wrong(f"{found[2]!r}, NumPy {case.expected[:2]}") from found[2]
        if case.expected[0] == "raised":
            raise Wrong(f"gave {found[1]!r}, NumPy raised {case.expected[2]!r}")
        y, order = found[1]
        if why := difference(y, case.expected[1], 1e-14):
            raise Wrong(f"{way.__name__}: {why}")
        if order != (right := _orders(case.expected[1])):
            raise Wrong(f"{way.__name__}: memory in the order {order}, NumPy {right}")
    return "the same" if case.expected[0] == "gave" else "raised"


def _orders(y):
    """The order in memory of the arrays of a result, as a program can ask for it."""
    return [compare.order(x) for x in compare.leaves(y) if isinstance(x, np.ndarray)]


def _plain(x):
    if isinstance(x, (list, tuple)):
        parts = map(_plain, x)
        if hasattr(x, "__getnewargs_ex__"):  # SciPy's results, with more by name
            return zyg.stop_gradient(x)
        return x._make(parts) if hasattr(x, "_make") else type(x)(parts)
    return zyg.primal(x)


def _backward(case):
    made = []
    zyg.pullback(_noting(case, made), *case.at)
    return made[0]


def _ahead(case):
    made = []
    zyg.pushforward(_noting(case, made), tuple(case.at), tuple(case.tangents))
    return made[0]


def _noting(case, made):
    g = case.by_places(case.watched)

    def noting(*xs):
        y = g(*xs)
        made.append((_plain(y), _orders(y)))
        return xs[0]

    return noting


def reverse(case):
    """Against differences, where there are some; in 32 bits, against 64 bits."""
    if not case.differentiable:
        return "no derivative"
    found, why = given(case.slope, "reverse")
    if found is None:
        return why
    for x, c in zip(case.at, found, strict=True):
        if np.shape(x) != np.shape(c):
            raise Wrong(f"a cotangent of the shape {np.shape(c)} for {np.shape(x)}")
    if compare.is_single(case.at):
        return _of_single(case, found)

    def cotangents(w):
        by = None if all(map(np.array_equal, w, compare.weights(case.expected[1]))) else w
        return (
            case.slope if by is None else quietly(reverse_of, case, case.watched, zyg.pullback, by)
        )

    return slopes.by_differences(case.by_places(case.plain), case.at, cotangents, case.tangents)


def _of_single(case, found):
    double = case.double
    if double.expected[0] == "raised" or not double.differentiable:
        return "no derivative in 64 bits"
    said = reverse(double)
    if isinstance(double.slope, Exception):
        return said
    if not all(
        map(_finite_alike, compare.moving(case.expected[1]), compare.moving(double.expected[1]))
    ):
        return "another range"
    for k, (x, y) in enumerate(zip(found, double.slope, strict=True)):
        if why := difference(np.asarray(x), np.asarray(y, np.asarray(x).dtype), 1e-5):
            raise Wrong(f"32 bits of {k}: {why}")
    return f"as in 64 bits, {said}"


def _finite_alike(x, y):
    return np.shape(x) == np.shape(y) and np.array_equal(np.isfinite(x), np.isfinite(y))


def forward(case):
    """The inner product with weights is that of the cotangents with the tangents."""
    if not case.differentiable:
        return "no derivative"
    found, why = given(case.pushed, "forward")
    if found is None:
        return why
    back, why = given(case.slope, "forward")
    if back is None:
        return why
    y = case.expected[1]
    ahead = compare.inner(found, compare.weights(y) if moves(y) else [np.array(1.0)])
    behind = compare.inner(back, case.tangents)
    if not (np.isfinite(ahead) and np.isfinite(behind)):
        return _element_by_element(case)
    # NumPy's irfft of nothing gives memory that is not set, which may be 1e-310.
    size = max(compare.size(back) * compare.size(case.tangents), 1e-290)
    near = 1e-4 if compare.is_single([*case.at, y]) else 1e-9
    # What cancels leaves the rounding of what it was made of.
    parts = [np.where(np.isfinite(x), x, 0.0) for x in (*compare.moving(y), *case.at)]
    rounding = 1e-15 * compare.size(compare.weights(y)) * compare.size(parts)
    if abs(ahead - behind) > near * max(size, abs(ahead)) + rounding:
        raise Wrong(f"forward {ahead!r}, reverse {behind!r}")
    return "the same"


def _element_by_element(case):
    """Some elements of the Jacobian, where sums are not finite: both ways."""
    y = case.expected[1]
    if not is_real(y) or not all(map(is_real, case.at)):
        return "not finite"
    near = 1e-4 if compare.is_single([*case.at, y]) else 1e-8
    rows, places = _some(y), [(k, n) for k, x in enumerate(case.at) for n in _some(x)]

    def unit(x, n):
        return compare.like(np.where(np.arange(np.size(x)) == n, 1.0, 0.0).reshape(np.shape(x)), x)

    back = [quietly(reverse_of, case, case.watched, zyg.pullback, [unit(y, n)]) for n in rows]
    for k, n in places:
        along = [unit(x, n if j == k else -1) for j, x in enumerate(case.at)]
        (y_dot,) = quietly(forward_of, case, case.watched, along)
        ahead = np.ravel(y_dot)[rows]
        behind = np.array([np.ravel(c[k])[n] for c in back])
        not_known = np.isnan(ahead + behind)
        ahead, behind = (np.where(not_known, 0.0, x).astype(float) for x in (ahead, behind))
        if why := difference(ahead, behind, near):
            raise Wrong(f"forward and reverse by element {n} of {k}: {why}")
    return "the same, element by element"


def _some(x, most=12):
    """Some indices of elements, those that are not finite first."""
    order = np.argsort(np.isfinite(np.ravel(x)), kind="stable")
    return [*order[:: max(1, len(order) // most)]]


def second(case):
    if not case.differentiable:
        return "no derivative"
    found, why = given(case.curved, "second order")
    if found is None:
        return why
    if compare.is_single(case.at):
        return "of 32 bits"
    return slopes.by_differences_of(gradient_of(case, case.watched), case.at, found, case.tangents)


def checkpointed(case):
    def again(*xs):
        return zyg.checkpoint(case.watched, *xs)

    return _against(case, case.slope, lambda: reverse_of(case, again), "checkpointed")


def task(case):
    async def inside(*xs):
        made = []
        async with zyg.trio.open_nursery() as nursery:

            async def work():
                made.append(case.watched(*xs))
                await trio.lowlevel.checkpoint()

            nursery.start_soon(work)
        return made[0]

    def by_task():
        g, y = case.by_places(inside), case.expected[1]

        async def weighed(*xs):
            made = await g(*xs)
            return made if moves(y) else compare.weighed(made)

        _, back = zyg.pullback(weighed, *case.at)
        return back(compare.like(compare.weights(y)[0], y) if moves(y) else 1.0, zeros=True)

    return _against(case, case.slope, by_task, "in a task")


def drop_in(case):
    """The drop-in namespaces: derivatives, and values with no gradient around them."""
    f = module_of(case.program, DROP_INS).f
    _same_value(case, f, "zyg.numpy", True)
    _same_memory(case, f, "zyg.numpy")
    return _against(case, case.slope, lambda: reverse_of(case, f), "zyg.numpy")


def adopted(case):
    module = case.program.module(Path(FOLDER.name))
    zyg.adopt(module.__name__)
    try:
        _same_value(case, module.f, "adopted", True)
        _same_memory(case, module.f, "adopted")
        return _against(case, case.slope, lambda: reverse_of(case, module.f), "adopted")
    finally:
        zyg.adopted().release()


def mapped(case):
    """Examples at once, against one after the other: values, and the gradient of each."""
    if not case.differentiable or not any(map(np.ndim, case.at)):
        return "no derivative"
    if not all(np.all(np.isfinite(x)) for x in case.at):
        return "not finite"  # of which some LAPACK makes no end
    if "einsum(" in case.program.text and min(map(np.size, case.at)) == 0:
        return "not the same twice"  # NumPy leaves the result of no elements as memory was
    g = case.by_places(case.watched)

    def gradients(*xs):
        return zyg.gradient(lambda *xs: _total(g(*xs)), *xs, zeros=True)

    examples = [[_scaled(x, by) for x in case.at] for by in (1.0, 0.75, 0.5)]
    batch = [np.stack(column) for column in zip(*examples, strict=True)]
    for f, near in ((g, 1e-12), (gradients, max(1e-8, case.near))):
        rows = [tried(f, *xs) for xs in examples]
        if any(isinstance(row, Exception) for row in rows):
            return "not for all examples"
        try:
            with zyg.config(fallback="error"):
                found = compare.leaves(quietly(zyg.vmap(f), *batch))
        except Exception:
            return "one after the other" if f is g else "gradients one after the other"
        near = 2e-6 if compare.is_single([case.expected[1]]) else near
        columns = zip(*map(compare.leaves, rows), strict=True)
        for y, column in zip(found, columns, strict=True):
            expected = column[0] if column[0] is None else np.stack(column)
            if why := difference(y, expected, near):
                raise Wrong(f"{'value' if f is g else 'gradient'}: {why}")
    return "at once"


def _total(y):
    """Of a result, a number in which each part has another weight."""
    total = 0.0
    for k, x in enumerate(compare.leaves(y)):
        plain = zyg.primal(x)
        if getattr(plain, "dtype", np.dtype(type(plain))).kind in "fc":
            x = x * np.arange(1.0, 1.0 + np.size(x)).reshape(np.shape(x)) * (k + 1)
            total = total + np.sum(np.real(x) + 2 * np.imag(x))
    return total


def _scaled(x, by):
    return x * np.asarray(by, np.asarray(x).dtype)


# Machine code


def _documented(case):
    """What docs/compiled.md says that compiled functions give instead."""
    y, text = case.expected[1], case.program.text
    if case.expected[0] == "raised" or not isinstance(y, np.ndarray):
        return case.expected
    if text.startswith("np.where(") and not any(map(np.ndim, case.leaves)):
        return "gave", y[()], []
    if text == "x0 ** 0.5" and y.dtype.kind == "f":
        halves = np.full_like(y, 0.5)
        return "gave", quietly(np.power, case.leaves[0], halves), case.expected[2]
    return case.expected


def _as_text(expected):
    """The same of a text, which has no types but Python's and NumPy's own."""
    y = expected[1]
    return (expected[0], tuple(y), *expected[2:]) if hasattr(y, "_make") else expected


def _same_value(case, f, what, exact=False, of=None):
    expected, found = of or case.expected, outcome(f, case.args())
    if found[0] == "raised" and isinstance(found[1], type) and issubclass(found[1], ZygError):
        raise Wrong(f"{what} refuses the value: {found[2]}")
    if found[0] != expected[0]:
        raise Wrong(f"{what} {found[0]} {found[1]!r}, NumPy {expected[0]} {expected[1]!r}")
    if found[0] == "raised":
        if found[1] is not expected[1]:
            raise Wrong(f"{what} raised {found[1]}, NumPy {expected[1]}")
        return
    near = 1e-15 if exact else case.near
    if why := difference(found[1], expected[1], near):
        raise Wrong(f"{what}: {why}")


def _same_memory(case, f, what, of=None, facts=lambda y, facts: facts):
    """What shares memory with what, in which order results are, and what has changed."""
    expected, found = of or case.expected, outcome(f, case.args())
    if expected[0] != found[0] or expected[0] == "raised":
        return
    pairs = itertools.zip_longest(facts(*found[1:]), facts(*expected[1:]))
    if wrong := [pair for pair in pairs if pair[0] != pair[1]]:
        raise Wrong(f"{what}, memory: {wrong[:3]}")


def how(case):
    """Whether the compiled function is machine code."""
    try:
        with zyg.config(fallback="silent"):
            call, _ = quietly(known_call, compiled_of(case.program), tuple(case.args()), {})
    except Exception as error:
        return f"not known: {type(error).__name__}"
    if call is None:
        return "in Python"
    return "called back" if call.known.called_back else "native"


def _compiled(of):
    @functools.wraps(of)
    def engine(case):
        with zyg.config(fallback="silent"):
            found = of(case, compiled_of(case.program))
        return found if found == "no derivative" or "tracer" in found else f"{found}, {how(case)}"

    return engine


@_compiled
def compiled(case, f):
    _same_value(case, f, "compiled", of=_documented(case))
    return "the same"


@_compiled
def memory(case, f):
    # New arrays with gaps are copied without them, as docs/compiled.md says.
    _same_memory(case, f, "compiled", _documented(case), compare.without_gaps)
    return "the same"


@_compiled
def compiled_reverse(case, f):
    found = _against(case, case.slope, lambda: reverse_of(case, f), "compiled reverse")
    y = case.expected[1] if case.expected[0] == "gave" else None
    if found == "the same" and compare.is_loss(y):
        right = tried(lambda: zyg.gradient(case.by_places(case.watched), *case.at, zeros=True))
        _against(
            case, right, lambda: zyg.gradient(case.by_places(f), *case.at, zeros=True),
            "compiled gradient",
        )  # fmt: skip
    return found


@_compiled
def compiled_forward(case, f):
    return _against(case, case.pushed, lambda: forward_of(case, f), "compiled forward")


@_compiled
def compiled_second(case, f):
    """Of 32 bits, where the tracer's own rounding shows: against the tracer's of 64 bits."""
    found = functools.cache(lambda: second_of(case, f))
    try:
        return _against(case, case.curved, found, "compiled second order")
    except Wrong:
        wide = case.double.curved
        if not compare.is_single(case.at) or isinstance(wide, Exception):
            raise
    alike = [x if x is None else compare.like(x, y) for x, y in zip(wide, case.curved, strict=True)]
    return _against(case, alike, found, "compiled second order, in 64 bits")


@_compiled
def source(case, f):
    """The text of the value and, of a loss, of the gradient, run without zyg.

    Where machine code would leave a call to Python, a text raises.
    """
    try:
        text = quietly(functools.partial(f.source, *case.args()))
    except ZygError:
        return "no text"
    call = running(f, tuple(case.args()), {})
    if stops(call.known.plain, call.operands):
        if (found := outcome(run(text)["f"], case.args()))[0] == "gave":
            raise Wrong(f"source gave {found[1]}, where machine code stops")
        return "raises as machine code stops"
    _same_value(case, run(text)["f"], "source", of=_as_text(_documented(case)))
    y = case.expected[1] if case.expected[0] == "gave" else None
    if not compare.is_loss(y) or not case.differentiable or len(case.places) < len(case.leaves):
        return "the same"
    try:
        text = quietly(functools.partial(f.source, *case.args(), of="gradient"))
    except ZygError:
        return "no text"

    def gradient():
        return run(text)["f_gradient"](*case.args())[1]

    form = call.known.gradients(None, True)
    if form is not None and stops(form.operation, call.operands):
        if not isinstance(found := tried(gradient), Exception):
            raise Wrong(f"source of the gradient gave {found}, where machine code stops")
        return "raises as machine code stops"
    right = tried(lambda: zyg.gradient(case.watched, *case.at, zeros=True))
    return _against(case, right, gradient, "source of the gradient")


def run(text):
    names = {}
    exec(compile(text, "source.py", "exec"), names)
    return names


def _named(*engines):
    return {f.__name__: f for f in engines}


MACHINE_CODE = _named(
    compiled, compiled_reverse, compiled_forward, compiled_second, source, memory
)  # fmt: skip
OWN = _named(reverse, forward, second) | MACHINE_CODE
OWN |= _named(drop_in, checkpointed, task, adopted, traced, mapped)
ENGINES = OWN | GUESTS
