"""The ways in which zyg runs a program: what each gives, and what it is compared with.

`ENGINES` are functions of a `Case`. An engine's value is compared with plain Python's in values,
types, writes to arguments and exceptions; the derivatives of the tracer with finite differences;
those of all others with the tracer's, as slopes along a direction. `agree` runs some.
"""

import copy
import functools
from contextlib import nullcontext
from functools import cached_property

import numpy as np
import trio

import zyg
import zyg.trio
from tests.calls.compare import Wrong, difference, quietly
from tests.compiler.interpreted import Stopped, interpreted
from tests.compiler.kit import operands_of
from tests.compiler.unwritten import noticed
from tests.compiler.wholes import carried_out, read
from zyg.compiler.autodiff import forward, reverse
from zyg.compiler.ir import prune, type_of
from zyg.compiler.kinds import kind_of

from .values import (
    direction_for,
    inner_product,
    is_real,
    leaves,
    mapped,
    plain,
    slope_by_differences,
)

compiled_of = functools.cache(zyg.compile)  # all rows of a program's arguments, and all engines


def outcome(f, args):
    """What a call gives or raises, and its arguments afterwards."""
    args = copy.deepcopy(args)
    try:
        return quietly(f, *args), args
    except (Exception, Stopped) as error:
        return type(error), None


class Case:
    """A program at its arguments, and what is known of it."""

    def __init__(self, program):
        self.program, self.f = program, program.f
        self.expected, self.after = outcome(program.python, program.args)
        self.raises = isinstance(self.expected, type)
        assert program.raises is (self.expected if self.raises else None), self.expected
        self.is_smooth = not self.raises and all(
            any(x is not None for x in leaves(direction_for(of, 0)))
            for of in (program.args, self.expected)
        )
        numbers = leaves((program.args, self.expected))
        single = any(getattr(x, "dtype", None) == np.float32 for x in numbers)
        self.is_traced = "traced" not in program.without
        self.near = 1e-4 if single else 1e-8 if self.is_traced else 1e-5

    @property
    def args(self):
        return copy.deepcopy(self.program.args)

    @cached_property
    def whole(self):
        return read(self.f, *self.args)

    @cached_property
    def y_bar(self):
        return direction_for(self.expected, 1)

    @cached_property
    def along(self):
        return direction_for(self.program.args, 2)

    @cached_property
    def across(self):
        return direction_for(self.program.args, 3)

    @property
    def compiled(self):
        return compiled_of(self.f)

    @cached_property
    def traced(self):
        return self.program.traced

    def slope_of(self, f, args=None):
        """Along the direction, by reverse mode."""
        args = copy.deepcopy(args or self.args)
        _, back = zyg.pullback(f, *args)
        return inner_product(args, back(self.y_bar), direction_for(args, 2))

    @cached_property
    def slopes(self):
        """Of the tracer, along both directions; differences, where it refuses the program."""
        if not self.is_traced:
            return [self.by_differences(along) for along in (self.along, self.across)]
        args = copy.deepcopy(self.traced.args)
        found = quietly(zyg.pullback, self.traced.f, *args)[1](self.y_bar)
        return [inner_product(args, found, direction_for(args, seed)) for seed in (2, 3)]

    @property
    def slope(self):
        return self.slopes[0]

    def by_differences(self, along):
        def weigh(y):
            return inner_product(y, y, self.y_bar)

        return quietly(slope_by_differences, self.program.python, self.args, along, weigh)

    def curve_of(self, f, args=None):
        """How the slope moves along another direction: forward over reverse."""
        args = copy.deepcopy(args or self.args)

        def cotangents(*xs):
            return zyg.pullback(f, *xs)[1](self.y_bar, zeros=True)

        _, change = zyg.pushforward(cotangents, args, direction_for(args, 3))
        return inner_product(args, change, direction_for(args, 2))

    @cached_property
    def curve(self):
        if not self.is_traced:

            def slope(*xs):
                return self.slope_of(self.compiled, xs)

            return quietly(slope_by_differences, slope, self.args, self.across, float)
        return quietly(self.curve_of, self.traced.f, self.traced.args)


def is_number(y):
    return is_real(y) and np.ndim(y) == 0


def demand_near(found, right, near, what, least=1e-2):
    """Two numbers are the same, but for rounding."""
    if np.isnan(found) and np.isnan(right):
        return
    if not abs(found - right) <= near * max(abs(right), least):
        raise Wrong(f"{what}: {found!r}, not {right!r}")


def demand_value(case, f, near, args=None):
    """What Python gives: value and types, what is written to arguments, or the exception."""
    y, after = outcome(f, args or case.args)
    if case.raises or isinstance(y, type):
        if y is not case.expected and not (case.raises and y is Stopped):
            raise Wrong(f"{y!r}, Python: {case.expected!r}")
    elif why := difference(plain((y, after)), plain((case.expected, case.after)), near):
        raise Wrong(why)


# The tracer


def drop_in(case):
    """Values of the drop-in namespaces, with no gradient around them."""
    demand_value(case, case.traced.f, 1e-14, copy.deepcopy(case.traced.args))


def reverse_mode(case):
    right = case.by_differences(case.along)
    demand_near(case.slope, right, max(2e-6, 100 * case.near), "reverse mode and differences")


def forward_mode(case):
    args = copy.deepcopy(case.traced.args)
    y, y_dot = quietly(zyg.pushforward, case.traced.f, args, direction_for(args, 2))
    demand_near(inner_product(y, y_dot, case.y_bar), case.slope, case.near, "forward mode")


def second_order(case):
    def slope(*xs):
        return case.slope_of(case.traced.f, xs)

    args = case.traced.args
    if case.near < 1e-5:  # not of single precision
        right = quietly(slope_by_differences, slope, args, direction_for(args, 3), float)
        demand_near(case.curve, right, 1e-5, "second order and differences")


# The program, step by step


def ir(case):
    """The interpreter of programs: values, reverse, forward, and both over reverse."""
    demand_value(case, lambda *args: carried_out(case.whole, case.f, args), 1e-12)
    if case.is_smooth:
        _derivatives(case)


def _operands(kind, x):
    return [*operands_of(kind, x)]


def _full(x, seed):
    """A direction with the rest of the structure in its place."""
    along = iter(leaves(direction_for(x, seed)))
    return mapped(lambda _: next(d for d in along if d is not None), x)


def _derivatives(case):
    whole, args = case.whole, case.args
    program, kinds = whole.program, [kind_of(x) for x in args]
    given = [x for pair in zip(kinds, args, strict=True) for x in _operands(*pair)]
    count = len(given)
    for x in whole.captures.values(case.f):
        given += _operands(kind_of(x), x)
    active = [k for k, x in enumerate(program.inputs[:count]) if x.type.startswith("float")]

    def of_inputs(seed):
        made = zip(kinds, _full(args, seed), strict=True)
        rows = [x for pair in made for x in _operands(*pair)]
        return {k: rows[k] for k in active}

    types = [type_of(y) for y in program.outputs]
    bars = _operands(whole.result, _full(case.expected, 1))
    bars = [x for x in bars if is_real(x)]
    along, across = of_inputs(2), of_inputs(3)
    before = copy.deepcopy(given)

    back = reverse.vjp(program, active)
    outs = interpreted(back.program, *given, *bars)
    made = dict(zip(back.moving, outs[len(types) :], strict=True))
    slope = sum(np.dot(c, along[k]) for k, c in made.items())
    demand_near(slope, case.slope, case.near, "reverse mode")

    pushed = forward.pushforward(program, active, directions=2)
    both = [dot for pair in zip(along.values(), across.values(), strict=True) for dot in pair]
    dots = interpreted(pushed, *both, *given)[len(types) :]
    for k, right in enumerate(case.slopes):
        ahead = sum(np.dot(x, d) for x, d in zip(bars, dots[k::2], strict=True))
        demand_near(ahead, right, case.near, "forward mode")

    slopes = back.program
    del slopes.body.yields[: len(types)]
    prune(slopes.body)
    moved = forward.pushforward(slopes, active)
    change = interpreted(moved, *across.values(), *given, *bars)[len(back.moving) :]
    curve = sum(np.dot(c, along[k]) for k, c in zip(back.moving, change, strict=True))
    demand_near(curve, case.curve, 10 * case.near, "forward over reverse mode")
    twice = reverse.vjp(slopes, active)
    outs = interpreted(twice.program, *given, *bars, *(along[k] for k in back.moving))
    made = zip(twice.moving, outs[len(back.moving) :], strict=True)
    curve = sum(np.dot(c, across[k]) for k, c in made)
    demand_near(curve, case.curve, 10 * case.near, "reverse over reverse mode")
    if difference(tuple(given), tuple(before), 0.0):
        raise Wrong("a derivative wrote to its operands")


# Machine code


def machine(case):
    for _ in range(2):  # by the general way, and by that of the entry
        demand_value(case, case.compiled, 1e-11)


def pullback(case):
    args, y_bar = case.args, case.y_bar
    y, back = zyg.pullback(case.compiled, *args)
    demand_near(inner_product(args, back(y_bar), case.along), case.slope, case.near, "pullback")
    if why := difference(plain(y), plain(case.expected), 1e-11):
        raise Wrong(f"value of the pullback: {why}")


def pushforward(case):
    y, y_dot = zyg.pushforward(case.compiled, case.args, case.along)
    demand_near(inner_product(y, y_dot, case.y_bar), case.slope, case.near, "pushforward")


def gradient(case):
    """Of a number, by the entry of gradients, which leaves arguments as they were."""
    if not is_number(case.expected):
        return
    args, right = case.args, case.slope / case.y_bar
    for _ in range(2):  # by the general way, and by that of the entry
        y, found = zyg.value_and_gradient(case.compiled, *args)
        demand_near(inner_product(args, found, case.along), right, case.near, "gradient")
        if why := difference(plain((y, args)), plain((case.expected, case.args)), 1e-11):
            raise Wrong(f"value of the gradient, and its arguments: {why}")


def second(case):
    demand_near(case.curve_of(case.compiled), case.curve, 10 * case.near, "second order")


def _printed(case, of):
    """The functions of a text that is printed, run without zyg, by what they are of."""
    names, printed = {}, case.compiled.source(*case.args, of=of)
    if "import zyg" in printed:
        raise Wrong("its text imports zyg")
    exec(compile(printed, "printed.py", "exec"), names)
    name = getattr(case.compiled, "__name__", "f")
    name = name if name.isidentifier() else "f"
    return lambda what: names[f"{name}_{what}" if what else name]


def text(case):
    """What Python raises for, it raises for, too, by a check."""
    f = _printed(case, "value")("")
    if case.raises:
        y, _ = outcome(f, case.args)
        if not isinstance(y, type):
            raise Wrong(f"{y!r}, Python: {case.expected}")
    else:
        demand_value(case, f, 1e-11)


def text_of_derivatives(case):
    """Of the gradient of a number; of the others where no argument is an int: they go by ints."""
    if is_number(case.expected):
        _, found = _printed(case, "gradient")("gradient")(*case.args)
        slope = inner_product(case.args, found, case.along) * case.y_bar
        demand_near(slope, case.slope, case.near, "text of the gradient")
    if any(
        isinstance(x, int) or getattr(x, "dtype", None) == np.dtype(int) for x in leaves(case.args)
    ):
        return
    _, y_dot = _printed(case, "pushforward")("pushforward")(case.args, case.along)
    ahead = inner_product(case.expected, y_dot, case.y_bar)
    demand_near(ahead, case.slope, case.near, "text of the pushforward")
    of = _printed(case, "pullback")
    _, kept = of("forward")(*case.args)
    slope = inner_product(case.args, of("reverse")(kept, case.y_bar), case.along)
    demand_near(slope, case.slope, case.near, "text of the pullback")


def checkpointed(case):
    """But for what writes to its arguments: they are read-only there."""
    if difference(plain(case.after), plain(case.args), 0.0):
        return

    def again(*xs):
        return zyg.checkpoint(case.compiled, *xs)

    demand_near(case.slope_of(again), case.slope, case.near, "checkpointed")


def task(case):
    async def inside(*xs):
        made = []
        async with zyg.trio.open_nursery() as nursery:

            async def work():
                made.append(case.compiled(*xs))
                await trio.lowlevel.checkpoint()

            nursery.start_soon(work)
        return made[0]

    demand_near(case.slope_of(inside), case.slope, case.near, "in a task")


VALUES = {f.__name__: f for f in (drop_in, ir, machine, text)}
ENGINES = VALUES | {
    f.__name__: f
    for f in (reverse_mode, forward_mode, second_order, pullback, pushforward, gradient, second,
              text_of_derivatives, checkpointed, task)
}  # fmt: skip


def agree(program, engines=tuple(ENGINES)):
    """Run a program by these engines, and raise what any of them has wrong, with its name."""
    case, wrong = Case(program), []
    for name in engines:
        if name in program.without or not (case.is_smooth or name in VALUES):
            continue
        try:
            with zyg.config(fallback="error"):
                quietly(ENGINES[name], case)
        except (Exception, Stopped) as error:
            error.add_note(f"{program.name}: {name}")
            wrong.append(error)
    if wrong:
        raise ExceptionGroup(f"{program.name}: {len(wrong)} engines differ", wrong)


def first_and_final(program):
    """Run a program by machine code that is there at once, and by what LLVM makes of it.

    The first would notice where it reads memory that nothing has written to.
    """
    case, found = Case(program), []
    for code, memory in (("first", noticed()), ("whole", nullcontext())):
        f = zyg.compile(program.f)
        with zyg.config(compile=code), memory:
            found.append([outcome(f, case.args)])
            if case.is_smooth:
                y, back = quietly(zyg.pullback, f, *case.args)
                found[-1].append((y, quietly(back, case.y_bar)))
    first, final = (plain(tuple(x)) for x in found)
    if why := difference(first, final, 0.0):
        raise Wrong(f"{program.name}: {why}")
    numbers = float, complex, np.ndarray, np.generic
    bits = [[np.asarray(x).tobytes() for x in leaves(row) if isinstance(x, numbers)]
            for row in (first, final)]  # fmt: skip
    if bits[0] != bits[1]:
        raise Wrong(f"{program.name}: other bits")
