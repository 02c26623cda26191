"""A kit to make programs by hand, in the order in which they run; some that are made by it."""

import numpy as np

from zyg.compiler.back.python_module import Module
from zyg.compiler.builder import Builder
from zyg.compiler.ir import Block, Call, For, If, Program, Value, While, type_of
from zyg.compiler.kinds import NARROW, Array, Scalar, Struct, taken_apart


def operands_of(kind, x):
    """The operands of an object of a kind: numbers, and arrays of one axis for buffers."""
    if isinstance(kind, Scalar):
        plain = x if kind.python or kind.type == "float32" else x.item()
        yield from (x.real, x.imag) if kind.type == "complex" else (plain,)
    elif isinstance(kind, Array):
        flat = np.ascontiguousarray(kind.row(x))
        as_floats = flat.view(np.float64) if kind.element == "complex" else flat
        yield flat.astype(np.int64) if kind.element in NARROW else as_floats
        yield from x.shape
    elif isinstance(kind, Struct):
        for inner, part in zip(kind.parts, taken_apart(x)[1], strict=True):
            yield from operands_of(inner, part)


def module_text(program, name, names=()):
    """The text of a module that defines `name`, a function of flat arrays and numbers."""
    module = Module()
    module.add(program, name, names, quiet=True)
    return module.text(f"{name}, as zyg read and derived it.")


class Kit(Builder):
    """A builder with regions, and with operations by their short names."""

    def __init__(self):
        super().__init__()
        self.inputs, self.sizes = [], {}

    def number(self, kind="float"):
        self.inputs.append(Value(kind))
        return self.inputs[-1]

    def array(self, kind="float", ndim=1):
        """A buffer and its dims."""
        buffer, *dims = self.number(f"{kind}[]"), *(self.number("int") for _ in range(ndim))
        self.sizes[buffer] = tuple(dims)
        return buffer, *dims

    def program(self, name, outs):
        self.block.yields = [*outs]
        return Program(name, self.inputs, self.block, sizes=self.sizes)

    def __getattr__(self, name):
        return lambda *args: self.op(name, *args)

    def body(self, run, *args):
        block = Block()
        with self.inside(block):
            block.yields = list(run(*args) or ())
        return block

    def loop(self, span, init, run, independent=False):
        """`run` takes the index and what is carried, and returns what is carried on."""
        start, end, step = (0, span, 1) if not isinstance(span, tuple) else span
        index, params = Value("int"), [Value(type_of(x)) for x in init]
        body, outs = self.body(run, index, *params), [Value(p.type) for p in params]
        self.block.ops.append(
            For(index, (start, end, step), [*init], params, body, outs, independent)
        )
        return outs

    def while_(self, init, test, run):
        params = [Value(type_of(x)) for x in init]
        blocks = self.body(lambda *p: [test(*p)], *params), self.body(run, *params)
        outs = [Value(p.type) for p in params]
        self.block.ops.append(While(blocks[0], [*init], params, blocks[1], outs))
        return outs

    def if_(self, condition, then, orelse=lambda: ()):
        blocks = self.body(then), self.body(orelse)
        outs = [Value(type_of(x)) for x in blocks[0].yields]
        self.block.ops.append(If(condition, *blocks, outs))
        return outs

    def call(self, callee, *args):
        outs = [Value(type_of(y)) for y in callee.outputs]
        self.block.ops.append(Call(callee, args, outs))
        return outs

    def update(self, buffer, index, change):
        self.store(buffer, index, change(self.load(buffer, index)))


def scaled(k):
    """A new array, of a number and an array."""
    a, (x, n) = k.number(), k.array()
    y = k.alloc("float", n, zeroed=False)
    k.loop(n, [], lambda i: k.store(y, i, k.multiply(a, k.exp(k.load(x, i)))), independent=True)
    return y, n


def prefix_product(k):
    """The argument that was written is the result, too."""
    x, n = k.array()
    k.loop(
        (1, n, 1),
        [],
        lambda i: k.update(x, i, lambda u: k.multiply(u, k.load(x, k.subtract(i, 1)))),
    )
    return k.load(x, k.subtract(n, 1)), x, n


def double_buffer(k):
    """Two buffers change places in each round."""
    x, n = k.array()
    a, b = k.alloc("float", n), k.alloc("float", n)
    k.loop(n, [], lambda i: k.store(a, i, k.load(x, i)))

    def step(_, old, new):
        def each(i):
            at = k.remainder(k.add(i, 1), n)
            k.store(new, i, k.multiply(k.load(old, i), k.sin(k.load(old, at))))

        k.loop(n, [], each)
        return new, old

    a, b = k.loop(3, [a, b], step)
    return a, n, k.load(b, 0)


def product(k):
    """Of an n by 2 array with its transpose, added to ones."""
    x, n, m = k.array(ndim=2)
    c = k.alloc("float", k.multiply(n, n))
    k.loop(k.multiply(n, n), [], lambda i: k.store(c, i, 1.0))
    k.routine("product", n, n, m, x, 0, m, 1, x, 0, 1, m, c, 0, n, 1)
    return c, n, n


X4 = np.array([0.5, -1.2, 2.0, 0.1])


def program_of(make):
    kit = Kit()
    return kit.program(make.__name__, make(kit))
