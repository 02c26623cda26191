"""Functions that are derived where a compiled function says so, as programs of their own.

Such a function is read into a block, whose inputs are the numbers and arrays in its arguments, and
what it takes from around it. The program of its derivative takes the place of the call, and is
differentiated again by whoever derives the function around it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from zyg.compiler.aliases import Aliases
from zyg.compiler.autodiff import forward, reverse
from zyg.compiler.builder import REALS, Builder
from zyg.compiler.front.conversions import as_type
from zyg.compiler.front.elementwise import array, copied, fill
from zyg.compiler.front.mixed import ComplexNumber, Mixed, is_narrow
from zyg.compiler.front.outlines import is_same_content
from zyg.compiler.front.parallel import in_one_thread
from zyg.compiler.front.scalars import whose
from zyg.compiler.front.views import Arrayed, ArrayView, counted, demand_equal, dense, fresh
from zyg.compiler.front.whole import WholeInterpreter
from zyg.compiler.ir import Atom, Block, Program, Value, element_of, is_buffer, is_number, type_of
from zyg.compiler.numbers import Number, atom_of
from zyg.compiler.splice import load_from, only_loaded, spliced, uses
from zyg.errors import KernelError


def refused(what: str, why: str, fix: str) -> KernelError:
    return KernelError(f"{what} is not compiled.", why, fix)


def apart(x: Any, leaves: list[Any]) -> Callable[[Sequence[Any]], Any]:
    """How a structure is made of its leaves, which are appended to `leaves`."""
    if isinstance(x, (tuple, list)):
        rest = [apart(part, leaves) for part in x]
        kind: Any = type(x)._make if hasattr(x, "_make") else type(x)
        return lambda made: kind([part(made) for part in rest])
    if type(x) is dict:
        named = {key: apart(part, leaves) for key, part in x.items()}
        return lambda made: {key: part(made) for key, part in named.items()}
    if hasattr(x, "__dict__") and not callable(x) and not isinstance(x, Arrayed):
        raise refused(f"a derivative by a {type(x).__name__}",
                      "its gradient is of another type.", "pass what is in it.")  # fmt: skip
    place = len(leaves)
    leaves.append(x)
    return lambda made: made[place]


def refuse_complex(element: str) -> None:
    """Refuse arrays of complex numbers, which programs have as floats, two for each."""
    if element == "complex":
        raise refused("a derivative by, or of, an array of complex numbers",
                      "zyg.compile does not support it.", "call it outside.")  # fmt: skip


@contextmanager
def unchanged(reader: WholeInterpreter) -> Iterator[None]:
    """Refuse what changes lists, objects or variables around it."""
    before = reader.flow.heap.fork()
    yield
    for ref, content in before.items():
        now = reader.flow.heap.get(ref, content)
        if not is_same_content(now, content):
            raise refused("a function that changes something around it, under a derivative,",
                          "what it writes would be watched after the derivative is taken.",
                          "return what is computed.")  # fmt: skip


@dataclass(eq=False, repr=False)
class Leaf:
    """A number or an array among results: whose number it is, or of which shape."""

    python: bool
    shape: tuple[Atom, ...] | None = None
    order: tuple[int, ...] = ()


class Inner:
    """A function that was read as a program, and what that is called with.

    `leaves` are the ends of its arguments; `inputs` the places, among the program's inputs, of
    those that are numbers and arrays of floats; `args` what the inputs are in the program around.
    """

    def __init__(
        self,
        reader: WholeInterpreter,
        f: Any,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        result: Callable[[Any], Any] = lambda y: y,
        ints: str = "refused",
    ) -> None:
        self.reader, self.to, self.ints = reader, reader.builder, ints
        self.leaves: list[Any] = []
        self.makes = [apart(reader.objects.handed_out(array(x)), self.leaves) for x in args]
        self.inputs: dict[int, int] = {}
        self.args: list[Any] = []  # views, too, which `run` copies where it has to
        self.sizes: dict[Value, tuple[Atom, ...]] = {}
        self.params: list[Value] = []
        seen = [self._seen(k, x) for k, x in enumerate(self.leaves)]
        with unchanged(reader), self.to.inside(Block()) as self.block:
            mine = [reader.objects.taken(make(seen), "an argument") for make in self.makes]
            y = self.read(f, mine, kwargs)
            self.y = result(reader.objects.handed_out(reader.values.settled(y)))
            self._yield()
            more = self.more()
        in_one_thread(self.block)  # its mirrors would have to be told apart before they are made
        dims = (n for shape in self.sizes.values() for n in shape if isinstance(n, Value))
        used, made = uses(self.block)
        around = dict.fromkeys([*used, *dims, *more])
        self.around = [x for x in around if x not in made and x not in self.params]
        self.args += self.around
        inputs = [*self.params, *self.around]
        self.program = Program("inner", inputs, self.block, sizes=self.sizes)
        self._refuse_writes()

    def read(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What the function gives."""
        return self.reader.calls.call(f, args, kwargs)

    def more(self) -> list[Value]:
        """Read more while the block is open; what that takes from around it."""
        return []

    def _seen(self, k: int, x: Any) -> Any:
        """What the function sees of an argument's leaf: an input, where a derivative can be."""
        if is_narrow(x) and self.ints != "left":
            raise refused(f"a derivative by {x.element}", "the value would have to stay one.",
                          "pass a float.")  # fmt: skip
        if isinstance(x, Arrayed) and self.ints == "floats" and x.element == "int":
            x = as_type(array(x), "float")
        if isinstance(x, ArrayView) and x.element in REALS:
            own = x.is_dense(x.order) and not isinstance(x.offset, Value) and x.offset == 0
            self.leaves[k] = x
            made = self._input(k, x.buffer if own else x)
            self.sizes[made] = x.shape
            return dense(self.to, made, x.shape, order=x.order)
        if isinstance(x, Number) or is_number(x):
            atom, python = atom_of(x), whose(x)
            if self.ints == "floats" and type_of(atom) == "int":
                atom = self.to.to("float", atom)
            if type_of(atom) in REALS:
                self.leaves[k] = self.to.number(atom, python)
                return self.to.number(self._input(k, atom), python)
        elif not isinstance(x, Arrayed):
            return x
        kind = x.element if isinstance(x, Arrayed) else type_of(atom)
        refuse_complex(kind)
        if kind != "bool" and self.ints == "refused":
            raise refused("a derivative by an int", "the value would have to stay one.",
                          "pass a float.")  # fmt: skip
        return x

    def _input(self, k: int, x: Any) -> Value:
        made = Value(f"{x.element}[]" if isinstance(x, ArrayView) else type_of(x))
        self.inputs[k] = len(self.params)
        self.params.append(made)
        self.args.append(x)
        return made

    def _yield(self) -> None:
        """Let the block yield the numbers and arrays of the result."""
        outs: list[Any] = []
        self.make = apart(self.y, outs)
        self.kinds: list[Leaf] = []
        yields = self.block.yields
        for x in outs:
            if isinstance(x, ArrayView):
                refuse_complex(x.element)
                view = self.reader.interface.own(x, yields)
                yields += [view.buffer, *view.shape]
                self.kinds.append(Leaf(False, view.shape, view.order))
            elif isinstance(x, Number) or is_number(x):
                yields.append(atom_of(x))
                self.kinds.append(Leaf(whose(x)))
            else:
                raise refused("a result that is no number, under a derivative", "it has none.",
                              "return numbers and arrays.")  # fmt: skip

    def _refuse_writes(self) -> None:
        memory = Aliases(self.program)
        if any(is_buffer(x.type) and memory.is_changed(x) for x in self.around):
            raise refused("a function that writes to an array around it, under a derivative,",
                          "what it writes would be watched after the derivative is taken.",
                          "return what is computed.")  # fmt: skip

    def keep(self) -> None:
        """Let nothing that is written later change the arguments."""
        for k, x in enumerate(self.leaves):
            if k in self.inputs and isinstance(x, ArrayView):
                self.leaves[k] = copied(x)
                self.args[self.inputs[k]] = self.leaves[k].buffer

    # Programs in the place of the call

    def run(self, program: Program, args: Sequence[Any]) -> list[Any]:
        """What a program yields that is put here; views are read where they are, or copied."""
        views: dict[Value, ArrayView] = {}
        given: list[Atom] = []
        for x, arg in zip(program.inputs, args, strict=True):
            if not isinstance(arg, ArrayView):
                given.append(arg)
            elif only_loaded(program, x) and (arg.ndim == 1 or arg.is_dense(arg.order)):
                given.append(seen := Value(x.type))
                views[seen] = arg
            else:
                given.append(copied(arg).buffer)
        block = Block()
        outs = spliced(program, given, block)
        for seen, view in views.items():
            load_from(block, seen, functools.partial(_place, view))
        self.to.block.ops += block.ops
        for y in outs:
            if isinstance(y, Value) and is_buffer(y.type):
                self.to.born.setdefault(y, len(self.to.born) + 1)
        return outs

    def made(self, atoms: Iterator[Atom]) -> list[Any]:
        """The leaves of the result, of what its program yields."""
        return [_made(self.to, kind, atoms) for kind in self.kinds]

    def gradient(self, zeros: bool) -> tuple[Any, tuple[Any, ...]]:
        """The value and the gradients."""
        derived = reverse.gradient(self.program, [*self.inputs.values()])
        outs = self.run(derived.program, self.args)
        count = len(self.program.outputs)
        found = dict(zip(derived.moving, outs[count:], strict=True))
        value = self.make(self.made(iter(outs[:count])))
        return value, self.by_argument(self.along(found), zeros)

    def gradient_program(self) -> Program:
        """The program of the gradients by all inputs, zeros where nothing depends on one."""
        derived = reverse.gradient(self.program, [*self.inputs.values()])
        program, count = derived.program, len(self.program.outputs)
        found = dict(zip(derived.moving, program.outputs[count:], strict=True))
        names: dict[Any, Any] = dict(zip(self.program.inputs, program.inputs, strict=True))
        builder = Builder()
        yields: list[Atom] = []
        for p in self.inputs.values():
            x = self.program.inputs[p]
            if p not in found and is_buffer(x.type):
                size = builder.product(names.get(n, n) for n in self.sizes[x])
                found[p] = builder.alloc(element_of(x.type), size)
            yields.append(found[p] if p in found else builder.to(x.type, 0.0))
        block = Block([*program.body.ops, *builder.block.ops], yields)
        return Program(program.name, program.inputs, block, sizes=program.sizes)

    def pushed(self, program: Program, dots: dict[int, Atom]) -> list[Atom]:
        """What a program with the same inputs yields, then its tangents, for tangents of inputs."""
        made = forward.pushforward(program, [*dots])
        return self.run(made, [*dots.values(), *self.args])

    def directions(self, tangents: Sequence[Any]) -> dict[int, Atom]:
        """Tangents of the inputs, of those of the arguments; None where one does not move."""
        if len(tangents) != len(self.makes):
            raise refused("pushforward with more or fewer tangents than arguments",
                          "each argument has one.", "pass None for one that stays.")  # fmt: skip
        found: dict[int, Atom] = {}
        first = 0
        for make, tangent in zip(self.makes, tangents, strict=True):
            mine: list[Any] = []
            apart(make(self.leaves), mine)
            dots: list[Any] = [None] * len(mine)
            if tangent is not None:
                apart(self.reader.objects.handed_out(array(tangent)), dots := [])
            if len(dots) != len(mine):
                raise refused("a tangent of another structure than its argument", "it has its own.",
                              "pass one like it.")  # fmt: skip
            for k, dot in enumerate(dots, first):
                if dot is not None and k in self.inputs:
                    found[self.inputs[k]] = as_operand(self.to, self.leaves[k], dot)
            first += len(mine)
        return found

    def along(self, found: dict[int, Atom]) -> dict[int, Any]:
        """Numbers and arrays like the leaves, of atoms by place among the inputs; finite ones."""
        made = {k: self.like(k, found[p]) for k, p in self.inputs.items() if p in found}
        for x in made.values():
            demand_finite(self.to, x)
        return made

    def like(self, k: int, x: Atom) -> Any:
        leaf = self.leaves[k]
        if isinstance(leaf, ArrayView):
            return dense(self.to, x, leaf.shape, order=leaf.order)  # type: ignore[arg-type]
        return self.to.number(x, whose(leaf))

    def zero(self, k: int) -> Any:
        leaf = self.leaves[k]
        if isinstance(leaf, ArrayView):
            return fresh(self.to, leaf.element, leaf.shape, True, leaf.order)
        return self.to.number(self.to.to(type_of(atom_of(leaf)), 0.0), whose(leaf))

    def by_argument(self, found: dict[int, Any], zeros: bool) -> tuple[Any, ...]:
        """Structures like the arguments, None where nothing is found."""
        made: list[Any] = [found.get(k) for k in range(len(self.leaves))]
        for k in self.inputs:
            if zeros and made[k] is None:
                made[k] = self.zero(k)
        return tuple(self._like_argument(make, made) for make in self.makes)

    def _like_argument(self, make: Any, made: list[Any]) -> Any:
        mine: list[Any] = []
        whole = make(made)
        apart(whole, mine)
        if all(x is None for x in mine):
            return None
        return self.reader.objects.taken(whole, "")


def _place(view: ArrayView, index: Atom) -> tuple[Value, list[Any], Atom]:
    """Where an element of a view is: its buffer, operations, and the index that they compute."""
    to, stride = Builder(), view.strides[0] if view.ndim == 1 else 1
    at = to.op("add", view.offset, to.op("multiply", index, stride))
    return view.buffer, to.block.ops, at


def _made(to: Any, kind: Leaf, atoms: Iterator[Atom]) -> Any:
    if kind.shape is None:
        return to.number(next(atoms), kind.python)
    buffer = next(atoms)
    shape = [next(atoms) for _ in kind.shape]
    return dense(to, buffer, shape, order=kind.order)  # type: ignore[arg-type]


def demand_finite(to: Any, x: Any) -> None:
    """Stop where a derivative is not finite: exact zeros may have to be kept on the way to it."""
    why = "a derivative that is not finite"
    if isinstance(x, Number):
        to.demand(why, "isfinite", x.atom)
    elif isinstance(x, ArrayView):

        def more(k: Value, carried: list[Any]) -> list[Atom]:
            return [to.op("logical_and", carried[0], to.op("isfinite", to.load(x.buffer, k)))]

        (finite,) = counted(to, to.product(x.shape), [True], more)
        to.check(finite, why)


def loss_of(y: Any) -> Any:
    """One real number, of which there is a gradient."""
    if isinstance(y, ArrayView) and not y.shape:
        y = y.at(())
    if isinstance(y, Mixed) and not isinstance(y.number, ComplexNumber):
        y = y.number
    if not (isinstance(y, Number) or is_number(y)) or type_of(atom_of(y)) not in REALS:
        raise refused("a gradient of what is no real number", "only a number has one.",
                      "return a float.")  # fmt: skip
    return y


def first_loss(y: Any) -> Any:
    first = y[0] if type(y) is tuple and y else y
    if isinstance(first, Mixed):
        raise refused("a value of which the type depends on a branch, with its gradient",
                      "it is a float, or something else.", "return float(...) of it.")  # fmt: skip
    return (loss_of(first), *y[1:]) if first is not y else loss_of(y)


def as_operand(to: Any, like: Any, x: Any) -> Any:
    """A tangent or cotangent as a program takes it: a number, or a buffer of its elements."""
    if isinstance(x, Arrayed) and not x.shape and not isinstance(like, ArrayView):
        x = x.at(())
    if isinstance(like, ArrayView) != isinstance(x, Arrayed):
        raise refused("a tangent that is an array where a number is, or the other way",
                      "it is of the shape of what it belongs to.", "pass one like it.")  # fmt: skip
    if not isinstance(x, Arrayed):
        return to.to(type_of(atom_of(like)), atom_of(x))
    if x.ndim != like.ndim:
        raise refused("a tangent of another shape", "it has that of what it belongs to.",
                      "pass an array like it.")  # fmt: skip
    for n, m in zip(x.shape, like.shape, strict=True):
        demand_equal(to, n, m)
    made = fresh(to, like.element, like.shape, order=like.order)
    fill(made, x)
    return made.buffer
