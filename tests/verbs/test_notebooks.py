"""What a notebook needs: verbs inside a loop of asyncio, and tables for what is shown."""

import asyncio

import numpy as np
import pytest
import trio

import zyg
from zyg.errors import RunningLoopError


async def produces(x):
    async with zyg.trio.open_nursery() as nursery:
        send, receive = zyg.trio.open_memory_channel(0)

        async def produce():
            async with send:
                for k in range(1, 5):
                    await send.send(k * x)

        nursery.start_soon(produce)
        return sum([y * y async for y in receive])


def in_asyncio(call):
    async def main():
        return call()

    return asyncio.run(main())


def test_async_functions_run_under_trio_inside_a_loop_of_asyncio():
    assert in_asyncio(lambda: zyg.gradient(produces, 3.0)) == (180.0,)
    assert in_asyncio(lambda: zyg.value_and_gradient(produces, 3.0)) == (270.0, (180.0,))
    assert in_asyncio(lambda: zyg.grad(produces)(3.0)) == 180.0
    y, back = in_asyncio(lambda: zyg.pullback(produces, 3.0))
    assert (y, back(1.0)) == (270.0, (180.0,))


def test_the_loop_of_asyncio_goes_on_afterwards():
    async def main():
        first = zyg.gradient(produces, 3.0)
        await asyncio.sleep(0)
        return first, zyg.gradient(produces, 3.0), asyncio.current_task() is not None

    assert asyncio.run(main()) == ((180.0,), (180.0,), True)


def test_a_function_of_asyncio_is_awaited():
    async def waits(x):
        await asyncio.sleep(0)
        return x * x

    with pytest.raises(TypeError, match="asyncio") as info:
        in_asyncio(lambda: zyg.gradient(waits, 3.0))
    assert any("await zyg.gradient_async(f, x)" in note for note in info.value.__notes__)
    assert asyncio.run(zyg.gradient_async(waits, 3.0)) == (6.0,)


def test_trio_awaited_in_asyncio_says_what_to_write():
    async def sleeps(x):
        await trio.lowlevel.checkpoint()
        return x * x

    for f in (produces, sleeps):
        with pytest.raises(RunningLoopError, match="without await"):
            asyncio.run(zyg.gradient_async(f, 3.0))


def test_explanations_and_inspections_are_tables():
    found = zyg.explain(lambda x: x * np.sin(x), 3.0)._repr_html_()
    assert found.count("<tr>") == 3
    assert "argument 0: the value depends on it" in found
    assert "<lambda>" not in found
    assert "&lt;lambda&gt;" in found

    @zyg.compile
    def squares(x):
        return x * x

    found = squares.inspect(3.0)._repr_html_()
    assert "<th>form</th>" in found
    assert "<td>gradient</td>" in found
