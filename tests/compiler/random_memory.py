"""Random programs with memory, made with the builder: loops, branches, buffers, checks, calls."""

import random

from zyg.compiler.builder import Builder
from zyg.compiler.ir import Block, Call, For, If, Program, Value, While

SIZE = 5  # of every buffer
_UNARY = ["sin", "tanh", "negative", "absolute", "square", "floor", "sign"]
_BINARY = ["add", "subtract", "multiply", "maximum", "fmin", "arctan2", "copysign"]
_WHOLE = ["add", "subtract", "multiply", "minimum", "maximum"]
_COMPARE = ["less", "less_equal", "greater", "equal", "not_equal"]


class Writer:
    """Writes one program; what is known where it is: numbers, ints and buffers by their types."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.b = Builder()
        self.known = {"float": [0.5, -1.25], "int": [0, 1, 3], "bool": [True], "float[]": [],
                      "int[]": [], "float[][]": []}  # fmt: skip
        self.helper = None

    def pick(self, kind):
        return self.random.choice(self.known[kind][-6:])

    def index(self):
        return self.b.op("remainder", self.pick("int"), SIZE)

    def number(self):
        form = self.random.choice(["unary", "binary", "select", "float", "power"])
        if form == "unary":
            x = self.b.op(self.random.choice(_UNARY), self.pick("float"))
        elif form == "binary":
            x = self.b.op(self.random.choice(_BINARY), self.pick("float"), self.pick("float"))
        elif form == "select":
            x = self.b.op("select", self.pick("bool"), self.pick("float"), self.pick("float"))
        elif form == "float":
            x = self.b.to("float", self.pick("int"))
        else:
            x = self.b.op("power", self.pick("float"), self.random.choice([2, 3, -1]))
        # bounded, so that no difference of bits grows
        self.known["float"].append(self.b.op("arctan", x))

    def whole(self):
        x = self.b.op(self.random.choice(_WHOLE), self.pick("int"), self.pick("int"))
        x = self.b.op(self.random.choice(["remainder", "floor_divide"]), x, 7)
        self.known["int"].append(x)

    def condition(self):
        kind = self.random.choice(["float", "int"])
        x = self.b.op(self.random.choice(_COMPARE), self.pick(kind), self.pick(kind))
        self.known["bool"].append(x)

    def alloc(self):
        kind = self.random.choice(["float", "int", "float[]"])
        buffer = self.b.alloc(kind, SIZE)
        if kind == "float[]":  # a row of buffers, all set
            for k in range(SIZE):
                self.b.store(buffer, k, self.pick(kind))
        self.known[f"{kind}[]"].append(buffer)

    def load(self):
        kind = self.random.choice(["float", "float", "int", "float[]"])
        if self.known[f"{kind}[]"]:
            self.known[kind].append(self.b.load(self.pick(f"{kind}[]"), self.index()))

    def store(self):
        kind = self.random.choice(["float", "float", "int", "float[]"])
        if self.known[f"{kind}[]"]:
            self.b.store(self.pick(f"{kind}[]"), self.index(), self.pick(kind))

    def check(self):
        self.b.check(self.b.op("less", self.pick("float"), 1.45), "large")

    def product(self):
        n = self.random.choice([1, 2])
        a, b, c = self.pick("float[]"), self.pick("float[]"), self.b.alloc("float", SIZE)
        self.b.routine("product", n, n, 2, a, 0, 2, 1, b, 1, 1, n, c, 0, n, 1)
        self.known["float[]"].append(c)

    def call(self):
        if self.helper:
            p = self.helper
            args = tuple(self.pick(x.type) for x in p.inputs)
            outs = [Value("float"), Value("float[]")]
            self.b.block.ops.append(Call(p, args, outs))
            for out in outs:
                self.known[out.type].append(out)

    def inside(self, block, depth, kinds):
        """Fill a block; it yields something of each kind."""
        outer = {kind: [*known] for kind, known in self.known.items()}
        with self.b.inside(block):
            self.statements(depth - 1)
            block.yields = [self.pick(kind) for kind in kinds]
        self.known = outer

    def kinds(self):
        return self.random.choices(["float", "int", "float[]"], k=self.random.randint(0, 3))

    def if_(self, depth):
        then, orelse, kinds, condition = Block(), Block(), self.kinds(), self.pick("bool")
        self.inside(then, depth, kinds)
        self.inside(orelse, depth, kinds)
        outs = [*map(Value, kinds)]
        self.b.block.ops.append(If(condition, then, orelse, outs))
        for out in outs:
            self.known[out.type].append(out)

    def loop(self, depth, kind):
        kinds = self.kinds()
        init, params = [self.pick(kind) for kind in kinds], [*map(Value, kinds)]
        body, outs, index = Block(), [*map(Value, kinds)], Value("int")
        start, end = self.random.choice([(0, 4), (4, -1), (self.pick("int"), 6), (3, 3)])
        outer = {kind: [*known] for kind, known in self.known.items()}
        for p in params:
            self.known[p.type].append(p)
        if kind == "for":
            self.known["int"].append(index)
            self.inside(body, depth, kinds)
            step = -1 if (start, end) == (4, -1) else self.random.choice([1, 1, 2])
            op = For(index, (start, end, step), init, params, body, outs)
        else:
            init, params = [*init, 0], [*params, index]
            test = Block()
            with self.b.inside(test):
                test.yields = [self.b.op("less", index, self.random.randint(0, 4))]
            self.known["int"].append(index)
            self.inside(body, depth, kinds)
            with self.b.inside(body):
                body.yields.append(self.b.op("add", index, 1))
            outs.append(Value("int"))
            op = While(test, init, params, body, outs)
        self.known = outer
        self.b.block.ops.append(op)
        for out in outs:
            self.known[out.type].append(out)

    def statements(self, depth):
        plain = [self.number, self.number, self.whole, self.condition, self.alloc, self.load,
                 self.store, self.store, self.check, self.product, self.call]  # fmt: skip
        for _ in range(self.random.randint(2, 6)):
            form = self.random.random()
            if depth > 0 and form < 0.15:
                self.if_(depth)
            elif depth > 0 and form < 0.35:
                self.loop(depth, self.random.choice(["for", "for", "while"]))
            else:
                self.random.choice(plain)()

    def program(self, name, depth):
        inputs = [Value("float"), Value("int"), Value("float[]"), Value("int[]")]
        for x in inputs:
            self.known[x.type].append(x)
        self.alloc()
        self.statements(depth)
        self.statements(depth)
        self.b.block.yields = [self.pick("float"), self.pick("float[]")]
        if name != "helper":
            self.b.block.yields += [self.pick("int"), self.pick("int[]"), self.pick("bool")]
        return Program(name, inputs, self.b.block)


def random_program(seed):
    """A program of a float, an int below 7, a buffer of floats and one of ints."""
    writer = Writer(seed)
    if writer.random.random() < 0.5:
        writer.helper = Writer(seed + 10**6).program("helper", 1)
    return writer.program("program", 3)
