"""A kit to build programs by hand, in the order in which they run."""

from contextlib import contextmanager
from types import SimpleNamespace

from zyg.compiler.builder import Builder
from zyg.compiler.ir import Block, Call, For, If, Program, Value, While, type_of


class Build:
    """A program in the making: operations by attribute (``b.sin(x)``), regions by `with`."""

    def __init__(self):
        self.builder, self.inputs, self.sizes = Builder(), [], {}
        for name in ("alloc", "load", "store", "check", "routine"):
            setattr(self, name, getattr(self.builder, name))

    def __getattr__(self, name):
        return lambda *args: self.builder.op(name, *args)

    def add_to(self, buffer, index, x):
        self.store(buffer, index, self.add(self.load(buffer, index), x))

    def input(self, kind="float"):
        """A number; for a buffer ("float[]"), itself and its size."""
        self.inputs.append(Value(kind))
        if not kind.endswith("[]"):
            return self.inputs[-1]
        buffer, size = self.inputs[-1], self.input("int")
        self.sizes[buffer] = (size,)
        return buffer, size

    def program(self, *outputs, name="f"):
        self.builder.block.yields = [*outputs]
        return Program(name, self.inputs, self.builder.block, sizes=self.sizes)

    @contextmanager
    def range(self, *span, **carried):
        """A loop; what it carries is an attribute, to be set anew, and has its last value after."""
        full = (0, *span) if len(span) == 1 else span
        loop = self._loop(carried)
        loop.index = Value("int")
        with self.builder.inside(Block()) as body:
            yield loop
            body.yields = [getattr(loop, name) for name in carried]
        span = full if len(full) == 3 else (*full, 1)
        self._close(
            loop, carried, For(loop.index, span, [*carried.values()], loop.params, body, [])
        )

    @contextmanager
    def loop_while(self, condition, **carried):
        """A loop; `condition` makes the condition from what is carried."""
        loop = self._loop(carried)
        with self.builder.inside(Block()) as test:
            test.yields = [condition(loop)]
        with self.builder.inside(Block()) as body:
            yield loop
            body.yields = [getattr(loop, name) for name in carried]
        self._close(loop, carried, While(test, [*carried.values()], loop.params, body, []))

    def _loop(self, carried):
        params = [Value(type_of(x)) for x in carried.values()]
        return SimpleNamespace(params=params, **dict(zip(carried, params, strict=True)))

    def _close(self, loop, carried, op):
        op.outs += [Value(p.type) for p in loop.params]
        self.builder.block.ops.append(op)
        vars(loop).update(zip(carried, op.outs, strict=True))

    def call(self, callee, *args):
        outs = [Value(type_of(y)) for y in callee.outputs]
        self.builder.block.ops.append(Call(callee, args, outs))
        return outs

    def choose(self, condition, then, orelse):
        """What one of two functions of no arguments gives: a row of values."""
        blocks = []
        for f in (then, orelse):
            with self.builder.inside(Block()) as block:
                block.yields = [*(f() or ())]
            blocks.append(block)
        outs = [Value(type_of(x)) for x in blocks[0].yields]
        self.builder.block.ops.append(If(condition, *blocks, outs))
        return outs
