"""Calls of functions that bring their own adjoint: the rule is read, and its pullback.

The function becomes a program of its results and of what its pullback uses, the pullback a program
of that and of cotangents; derivatives take the second (see `ir.Adjoint`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zyg.compiler.aliases import Aliases
from zyg.compiler.autodiff.dependence import is_real
from zyg.compiler.front.closures import Bound, Closure, Partial
from zyg.compiler.front.elementwise import array, copied
from zyg.compiler.front.views import Arrayed, ArrayView, dense
from zyg.compiler.front.whole import WholeInterpreter
from zyg.compiler.inside.inner import Inner, apart, as_operand, refused
from zyg.compiler.ir import Adjoint, Atom, Block, Call, Program, Value, is_buffer, type_of
from zyg.compiler.splice import free_values, uses


def ruled(
    reader: WholeInterpreter, rule: Any, path: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """A call of a function whose rule is written in Python."""
    if rule.strong:
        raise refused(f"the rule of {rule.name}", "it keeps zeros itself.", "call it outside.")

    def read(*given: Any) -> Any:
        y, back = reader.sequences.elements(reader.functions.inline(rule.rule, given, kwargs, path))
        return y, lambda bar: reader.sequences.elements(reader.calls.call(back, [bar], {}))

    return Ruled(reader, rule.name, read, args, {}).call()


class Ruled(Inner):
    """A function that was read with its adjoint.

    `rule` takes the arguments, and gives the result and a function of its cotangent, which gives
    a cotangent for each argument, None, or a function that gives one.
    """

    def __init__(
        self,
        reader: WholeInterpreter,
        name: str,
        rule: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        only_reverse: tuple[str, str, str] | None = None,
    ) -> None:
        self.only_reverse = only_reverse
        args = [_kept(reader.objects.handed_out(x)) for x in args]
        super().__init__(reader, rule, args, kwargs, ints="left")
        self.program.name, self.program.adjoint = name, self.adjoint

    def call(self) -> Any:
        """The result of a call of the program that this is."""
        outs = [Value(type_of(y)) for y in self.program.outputs]
        self.to.block.ops.append(Call(self.program, tuple(self.args), outs))
        self.to.bear(outs)
        names: dict[Any, Any] = dict(zip(self.program.inputs, self.args, strict=True))
        atoms: list[Atom] = []
        for y, out in zip(self.program.outputs, outs, strict=True):
            known = type_of(y) == "int" and (y in names or not isinstance(y, Value))
            atoms.append(names.get(y, y) if known else out)
        return self.reader.objects.taken(self.make(self.made(iter(atoms))), "")

    def read(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        y, self.back = f(*args)
        return y

    def _seen(self, k: int, x: Any) -> Any:
        """The same, which a rule cannot write: nobody follows that."""
        x = super()._seen(k, x)
        if not isinstance(x, ArrayView):
            return x
        return x.view(x.shape, x.strides, x.offset, x.ranks, readonly=True)

    def more(self) -> list[Value]:
        """Read the pullback, in a block of its own that sees what the function has made."""
        results = len(self.block.yields)
        with self.to.inside(Block()) as block:
            y_bar, bars = self._bars()
            moving = self._cotangents(self.back(y_bar), block.yields)
        _, made = uses(self.block)
        asked: list[Any] = [*free_values(block)]
        asked += [n for x in (*asked, *bars, *block.yields) for n in self.sizes.get(x, ())]
        values = (x for x in asked if isinstance(x, Value) and x not in bars)
        asked = list(dict.fromkeys(values))
        residuals = [x for x in asked if x in made]
        self._demand_apart(results, residuals)
        self.block.yields += residuals
        around = [x for x in asked if x not in made and x not in self.params]
        program = Program("adjoint", [*asked, *bars], block, sizes=self.sizes)
        self._refuse_changes(program, bars, around)
        self.adjoint = Adjoint(program, bars, results, moving, self.only_reverse)
        return around

    def _bars(self) -> tuple[Any, list[Value]]:
        """The cotangent of the result as the pullback sees it, and what it is made of."""
        bars: list[Value] = []
        seen: list[Any] = []
        atoms = iter(self.block.yields)
        for x in self.made(atoms):
            element = x.element if isinstance(x, ArrayView) else type_of(getattr(x, "atom", x))
            if not is_real(element):
                seen.append(None)
                continue
            bars.append(bar := Value(f"{element}[]" if isinstance(x, ArrayView) else element))
            if isinstance(x, ArrayView):
                self.sizes[bar] = self.sizes[x.buffer] = x.shape
                seen.append(dense(self.to, bar, x.shape, order=x.order))
            else:
                seen.append(self.to.number(bar, getattr(x, "python", True)))
        return self.reader.objects.taken(self.make(seen), ""), bars

    def _cotangents(self, found: Sequence[Any], yields: list[Atom]) -> list[int]:
        """The places of the inputs that have cotangents, which are appended to `yields`."""
        if len(found) != len(self.makes):
            raise refused("a pullback with more or fewer cotangents than arguments",
                          "each argument has one.", "return None for one without.")  # fmt: skip
        moving: list[int] = []
        first = 0
        for make, c in zip(self.makes, found, strict=True):
            mine: list[Any] = []
            apart(make(self.leaves), mine)
            if isinstance(c, (Closure, Bound, Partial)):
                c = self.reader.calls.call(c, [], {})
            bars: list[Any] = [None] * len(mine)
            if c is not None:
                apart(self.reader.objects.handed_out(array(c)), bars := [])
            if len(bars) != len(mine):
                raise refused("a cotangent of another structure", "an argument has its own.",
                              "return one like it.")  # fmt: skip
            for k, bar in enumerate(bars, first):
                if bar is not None and k in self.inputs:
                    moving.append(self.inputs[k])
                    yields.append(as_operand(self.to, self.leaves[k], bar))
            first += len(mine)
        return moving

    def _demand_apart(self, results: int, residuals: list[Value]) -> None:
        """Copy a result that the pullback uses: others may write to it."""
        yields: list[Any] = self.block.yields
        for k, x in enumerate(yields[:results]):
            if x in residuals and is_buffer(x.type):
                shape = self.sizes[x]
                yields[k] = copied(ArrayView(self.to, x, shape)).buffer
                self.sizes[yields[k]] = shape

    def _refuse_changes(self, program: Program, bars: list[Value], around: list[Value]) -> None:
        memory = Aliases(program)
        buffers = [x for x in program.inputs if is_buffer(x.type)]
        copies = {x.buffer for x in self.leaves if isinstance(x, ArrayView)}
        if any(map(memory.is_written, buffers)) or any(
            is_buffer(x.type) and x not in copies for x in around
        ):
            raise refused("a pullback that writes to arrays, or uses one from outside its function",
                          "they may change until it runs.", "use a copy.")  # fmt: skip


def _kept(x: Any) -> Any:
    """An argument in memory that nothing else writes."""
    leaves: list[Any] = []
    make = apart(array(x), leaves)
    return make([copied(leaf) if isinstance(leaf, Arrayed) else leaf for leaf in leaves])
