"""Functions that run as machine code, in kernels, elsewhere: what their decorators keep."""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import zyg
import zyg.math
import zyg.numpy
from zyg import trio

Vector = NDArray[np.float64]


@zyg.compile
def power(x: float, n: int) -> float:
    y = 1.0
    for _ in zyg.prange(n):
        y *= x
    return y


assert_type(power(2.0, 10), float)
assert_type(zyg.gradient(power, 2.0, 10), tuple[float | Any, int | Any])
assert_type(zyg.grad(power)(2.0, 10), float | Any)
assert_type(power.source(2.0, 10), str)
power(2.0)  # wrong
power("2", 10)  # wrong
power.sauce(2.0, 10)  # wrong


@zyg.compile(wrt=0, parallel=True)
def total(x: Vector, y: Vector) -> float:
    return float(np.sum(x * y))


assert_type(total(np.ones(2), np.ones(2)), float)
total(np.ones(2))  # wrong
zyg.compile(wrt="x")
zyg.compile(wrt=1.5)  # wrong


class Model:
    rate = 2.0

    @zyg.compile
    def value(self, x: float) -> float:
        return self.rate * x


assert_type(Model().value(1.0), float)
Model().value("1")  # wrong


@zyg.elementwise
def relu(x: float) -> float:
    return x if x > 0 else 0.0


relu(np.ones(3), out=np.ones(3))
assert_type(relu.scalar(1.0), float)
relu.scalar("1")  # wrong
relu(np.ones(3), outt=np.ones(3))  # wrong


@zyg.elementwise(mode="cache")
def swish(x: float) -> float:
    return x / (1 + math.exp(-x))


swish(np.ones(3))
zyg.elementwise(mode="cash")  # wrong
zyg.broadcast(relu, np.ones(3), mode="recompute")
zyg.broadcast(np.ones(3), relu)  # wrong
zyg.partials(relu, np.ones(3))


@zyg.foreign(method="difference")
def cube(x: float) -> float:
    return math.pow(x, 3)


assert_type(cube(2.0), float)
cube("2")  # wrong
zyg.foreign(math.sin, methd="difference")  # wrong
sine = zyg.foreign(math.sin, jacobian=np.cos)
assert_type(sine(1.0), float)

with zyg.wrap_executor(ThreadPoolExecutor(2)) as pool:
    assert_type(pool.submit(power, 2.0, 3).result(), float)
assert_type(zyg.threads.map(square := power.__call__, [1.0], [2]), list[float])
zyg.threads.map(square, pol=None)  # wrong

# Drop-ins have the types of what they stand for.
assert_type(zyg.math.sin(1.0), float)
assert_type(zyg.numpy.zeros(3), np.ndarray[tuple[int], np.dtype[np.float64]])
zyg.math.sine(1.0)  # wrong
zyg.numpy.zeroes(3)  # wrong


async def main() -> None:
    send, receive = trio.open_memory_channel[float](0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send.send, 1.0)
        nursery.start_soon(send.send)  # wrong
        assert_type(await receive.receive(), float)
    trio.sleeep(1)  # wrong


trio.run(main)
