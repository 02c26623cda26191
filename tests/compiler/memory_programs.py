"""Programs with memory, made by hand: loops over buffers, branches, calls, buffers of buffers.

Each is a function of a `Kit`, which returns what the program yields; `programs` has them with
arguments at which they are smooth.
"""

import numpy as np

from zyg.compiler.builder import Builder
from zyg.compiler.ir import Block, Call, For, If, Program, Value, While, type_of


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


def sum_of_sines(k):
    x, n = k.array()
    return k.loop(n, [0.0], lambda i, s: [k.add(s, k.sin(k.load(x, i)))])


def scaled(k):
    """A new array, of a number and an array."""
    a, (x, n) = k.number(), k.array()
    y = k.alloc("float", n, zeroed=False)
    k.loop(n, [], lambda i: k.store(y, i, k.multiply(a, k.exp(k.load(x, i)))), independent=True)
    return y, n


def stencil_in_place(k):
    """It writes its argument, and returns the sum."""
    x, n = k.array()

    def sweep(i):
        near = k.add(k.load(x, k.subtract(i, 1)), k.load(x, k.add(i, 1)))
        k.update(x, i, lambda u: k.multiply(k.multiply(0.5, near), u))

    k.loop(2, [], lambda _: k.loop((1, k.subtract(n, 1), 1), [], sweep))
    return k.loop(n, [0.0], lambda i, s: [k.add(s, k.load(x, i))])


def prefix_product(k):
    """The argument that was written is the result, too."""
    x, n = k.array()
    k.loop(
        (1, n, 1),
        [],
        lambda i: k.update(x, i, lambda u: k.multiply(u, k.load(x, k.subtract(i, 1)))),
    )
    return k.load(x, k.subtract(n, 1)), x, n


def branches(k):
    """Elements are written in branches that depend on them."""
    x, n = k.array()
    y = k.alloc("float", n)

    def each(i):
        u = k.load(x, i)
        k.check(k.isfinite(u), "finite")
        k.if_(
            k.greater(u, 0.0),
            lambda: k.store(y, i, k.multiply(u, u)),
            lambda: k.store(y, k.subtract(k.subtract(n, 1), i), k.cos(u)),
        )

    k.loop(n, [], each)
    return y, n, *k.loop(n, [1.0], lambda i, p: [k.multiply(p, k.add(1.5, k.load(y, i)))])


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


def one_of_two(k):
    """A buffer is chosen by a number, and written under its new name."""
    a, (x, n) = k.number(), k.array()
    y, z = k.alloc("float", n), k.alloc("float", n)
    k.store(z, 0, 2.0)
    (chosen,) = k.if_(k.greater(a, 0.0), lambda: [y], lambda: [z])
    k.loop(n, [], lambda i: k.store(chosen, i, k.multiply(a, k.load(x, i))))
    return k.add(k.load(y, 1), k.load(z, 0)), chosen, n


def growing(k):
    """Values in a buffer that doubles when it is full, as long as they are small."""
    a = k.number()

    def add(buffer, size, count, y):
        def doubled():
            larger = k.alloc("float", k.multiply(size, 2))
            k.loop(size, [], lambda i: k.store(larger, i, k.load(buffer, i)))
            return larger, k.multiply(size, 2)

        buffer, size = k.if_(k.equal(count, size), doubled, lambda: [buffer, size])
        k.store(buffer, count, y)
        y = k.add(k.multiply(k.multiply(0.3, y), y), k.add(y, 0.1))
        return buffer, size, k.add(count, 1), y

    start = [k.alloc("float", 1), 1, 0, k.multiply(a, a)]
    buffer, _, count, y = k.while_(start, lambda b, s, c, y: k.less(y, 3.0), add)
    return k.loop(count, [y], lambda i, s: [k.add(k.multiply(s, 0.9), k.load(buffer, i))])


def rows(k):
    """A buffer of buffers, filled in one loop and read in another, backwards."""
    x, n = k.array()
    kept = k.alloc("float[]", n)

    def fill(i):
        row = k.alloc("float", k.add(i, 1))
        k.loop(k.add(i, 1), [], lambda j: k.store(row, j, k.multiply(k.load(x, i), k.load(x, j))))
        k.store(kept, i, row)

    def read(i, s):
        row = k.load(kept, i)
        return k.loop(k.add(i, 1), [s], lambda j, s: [k.sin(k.add(s, k.load(row, j)))])

    k.loop(n, [], fill)
    return k.loop((k.subtract(n, 1), -1, -1), [0.0], read)


def product(k):
    """Of an n by 2 array with its transpose, added to ones."""
    x, n, m = k.array(ndim=2)
    c = k.alloc("float", k.multiply(n, n))
    k.loop(k.multiply(n, n), [], lambda i: k.store(c, i, 1.0))
    k.routine("product", n, n, m, x, 0, m, 1, x, 0, 1, m, c, 0, n, 1)
    return c, n, n


def constants_only(k):
    """Nothing of the second result moves; it has a tangent all the same, and ints have none."""
    a, (x, n) = k.number(), k.array()
    y, where = k.alloc("float", n), k.alloc("int", n)
    k.loop(n, [], lambda i: k.store(y, i, k.float(i)))
    k.loop(n, [], lambda i: k.store(where, i, i))
    return k.multiply(a, k.load(x, k.load(where, 1))), y, n


def _power(n, last):
    """x**n, by a function that calls itself, and that notes what it has in a buffer."""
    k = Kit()
    callee = k.program("power", [0.0])
    n, x, notes = k.number("int"), k.number(), k.number("float[]")

    def further():
        (y,) = k.call(callee, k.subtract(n, 1), x, notes)
        k.store(notes, n, y)
        return [k.multiply(x, y)]

    callee.body.yields = k.if_(k.less(n, 1), lambda: [last], further)
    return callee


def recursion(k):
    x, y = k.number(), k.number()
    notes = k.alloc("float", 8)
    callee = _power(None, 1.0)
    (a,) = k.call(callee, 5, k.add(x, 0.5), notes)
    (b,) = k.call(callee, 2, 0.7, k.alloc("float", 8))
    return k.add(k.multiply(a, y), b), k.load(notes, 3)


def _filled():
    """A function that makes a buffer, and writes into that of its caller."""
    k = Kit()
    x, n = k.array()
    y = k.alloc("float", n)

    def each(i):
        k.store(y, i, k.multiply(2.0, k.load(x, i)))
        k.store(x, i, k.sin(k.load(x, i)))

    k.loop(n, [], each)
    return k.program("filled", [y])


def called(k):
    x, n = k.array()
    (y,) = k.call(callee := _filled(), x, n)
    (z,) = k.call(callee, y, n)
    return k.loop(
        n,
        [0.0],
        lambda i, s: [k.add(s, k.multiply(k.load(x, i), k.multiply(k.load(y, i), k.load(z, i))))],
    )


def narrow(k):
    """Single precision, in an array and in what is carried."""
    x, n = k.array("float32")
    y = k.alloc("float32", n)

    def each(i, s):
        u = k.multiply(k.load(x, i), k.sin(k.load(x, i)))
        (v,) = k.if_(k.greater(u, 0.2), lambda: [u], lambda: [k.float32(1.5)])
        k.store(y, i, v)
        return [k.add(k.multiply(s, u), v)]

    (s,) = k.loop(n, [k.float32(1.0)], each)
    return s, y, n, k.multiply(k.float(s), 2.0)


X4 = np.array([0.5, -1.2, 2.0, 0.1])
_GRID = np.array([0.3, -0.4, 1.1, 0.7, -0.2, 0.9])
ARGUMENTS = {
    sum_of_sines: [X4, 4],
    scaled: [0.7, X4, 4],
    stencil_in_place: [X4, 4],
    prefix_product: [X4, 4],
    branches: [X4, 4],
    double_buffer: [X4, 4],
    one_of_two: [0.7, X4, 4],
    growing: [0.6],
    rows: [X4, 4],
    product: [_GRID, 3, 2],
    constants_only: [0.7, X4, 4],
    recursion: [0.6, 1.3],
    called: [X4, 4],
    narrow: [X4.astype(np.float32), 4],
}


def program_of(make):
    kit = Kit()
    return kit.program(make.__name__, make(kit))


def active_of(program):
    """All inputs that can move."""
    return [k for k, x in enumerate(program.inputs) if x.type.startswith("float")]
