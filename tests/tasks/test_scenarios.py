"""Programs of trio, plain and wrapped, whose gradients are known by hand."""

import math

import numpy as np
import pytest
import trio as plain_trio
import trio.testing

import zyg
import zyg.numpy
from zyg import trio as zyg_trio

from .test_interactions import nth

KITS = {"zyg.trio": zyg_trio, "trio": plain_trio}


@pytest.fixture(params=KITS)
def trio(request):
    return KITS[request.param]


# Channels


@pytest.mark.parametrize("capacity", [0, 1, 10, math.inf])
def test_a_consumer_sums_the_squares_of_what_a_producer_sends(trio, capacity):
    async def f(x):
        send, receive = trio.open_memory_channel(capacity)

        async def produce():
            async with send:
                for k in range(1, 5):
                    await send.send(k * x)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce)
            return sum([y * y async for y in receive])

    assert zyg.value_and_gradient(f, 3.0) == (270.0, (180.0,))


def test_two_consumers_take_turns(trio):
    async def f(x):
        send, receive = trio.open_memory_channel(0)
        results = []

        async def consume(power):
            results.append(await receive.receive() ** power)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(consume, 2)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(consume, 3)
            await trio.testing.wait_all_tasks_blocked()
            await send.send(2 * x)
            await send.send(3 * x)
        return sum(results)

    assert zyg.gradient(f, 2.0) == (340.0,)


def test_two_producers_in_an_order_that_no_fifo_knows(trio):
    async def f(x, w):
        send, receive = trio.open_memory_channel(0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send.send, 2 * x)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(send.clone().send, 3 * w)
            await trio.testing.wait_all_tasks_blocked()
            return await receive.receive() ** 2 + await receive.receive() ** 3

    assert zyg.gradient(f, 2.0, 5.0) == (16.0, 2025.0)


def test_a_message_that_nobody_receives(trio):
    async def f(x):
        send, receive = trio.open_memory_channel(2)
        send.send_nowait(7 * x)
        send.send_nowait(x**2)
        return receive.receive_nowait() * x

    assert zyg.gradient(f, 3.0) == (42.0,)


def test_only_messages_that_nobody_receives(trio):
    async def f(x):
        send, _ = trio.open_memory_channel(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send.send, x**2)
        return 5 * x

    assert zyg.gradient(f, 2.0) == (5.0,)


def test_request_and_reply_with_structures(trio):
    async def f(x):
        requests, served = trio.open_memory_channel(0)

        async def server():
            async for request, reply in served:
                await reply.send({"y": [request["x"] ** 2, "seen"], "n": 5})

        async with trio.open_nursery() as nursery:
            nursery.start_soon(server)
            reply, answers = trio.open_memory_channel(0)
            async with requests:
                await requests.send(({"x": x, "tag": None}, reply))
                answer = await answers.receive()
            return answer["y"][0] * answer["n"]

    assert zyg.gradient(f, 3.0) == (30.0,)


def ring(trio, x, tasks=4, rounds=5):
    """Each task adds its own sine to what comes round."""

    async def f(x):
        ends = [trio.open_memory_channel(1) for _ in range(tasks)]

        async def member(k):
            receive, send = ends[k][1], ends[(k + 1) % tasks][0]
            for _ in range(rounds):
                y = await receive.receive()
                await send.send(np.sin(y) * (k + 1) + x * y)

        async with trio.open_nursery() as nursery:
            await ends[0][0].send(x)
            for k in range(tasks):
                nursery.start_soon(member, k)
        return await ends[0][1].receive()

    return f(x)


def sequential_ring(x, tasks=4, rounds=5):
    y = x
    for _ in range(rounds):
        for k in range(tasks):
            y = np.sin(y) * (k + 1) + x * y
    return y


def test_a_ring_with_feedback(trio):
    (found,) = zyg.gradient(lambda x: ring(trio, x), 0.7)
    (expected,) = zyg.gradient(sequential_ring, 0.7)
    assert found == pytest.approx(expected, rel=1e-12)


def test_second_and_third_derivatives_of_a_ring(trio):
    for n in (2, 3):
        found = nth(lambda x: ring(trio, x, 3, 2), n)(0.3)
        expected = nth(lambda x: sequential_ring(x, 3, 2), n)(0.3)
        assert found == pytest.approx(expected, rel=1e-10)


def test_one_value_to_several_receivers(trio):
    async def f(x):
        ends = [trio.open_memory_channel(1) for _ in range(5)]
        got = []

        async def consume(k, receive):
            y = await receive.receive()
            got.append(k * y * y)

        async with trio.open_nursery() as nursery:
            for k, (_, receive) in enumerate(ends):
                nursery.start_soon(consume, k, receive)
            y = np.exp(x)
            for send, _ in ends:
                await send.send(y)
        return sum(got)

    assert zyg.gradient(f, 0.5)[0] == pytest.approx(20 * math.e)


def test_statistics_clones_closing_and_the_end_of_a_channel(trio):
    async def f(x):
        send, receive = trio.open_memory_channel(3)
        other = send.clone()
        other.send_nowait(x)
        assert send.statistics().current_buffer_used == 1
        assert send.statistics().open_send_channels == 2
        send.close()
        with pytest.raises(trio.ClosedResourceError):
            send.send_nowait(x)
        await other.aclose()
        total = 3 * await receive.receive()
        with pytest.raises(trio.EndOfChannel):
            await receive.receive()
        with pytest.raises(trio.EndOfChannel):
            receive.receive_nowait()
        receive.close()
        with pytest.raises(trio.ClosedResourceError):
            await receive.receive()
        return total

    assert zyg.gradient(f, 1.0) == (3.0,)


def test_a_full_and_an_empty_channel_and_a_broken_one(trio):
    async def f(x):
        send, receive = trio.open_memory_channel(1)
        with pytest.raises(trio.WouldBlock):
            receive.receive_nowait()
        send.send_nowait(x)
        with pytest.raises(trio.WouldBlock):
            send.send_nowait(x)
        y = receive.receive_nowait()
        await receive.aclose()
        with pytest.raises(trio.BrokenResourceError):
            await send.send(x)
        return y * y

    assert zyg.gradient(f, 4.0) == (8.0,)


def test_arrays_and_their_parts_as_messages(trio):
    async def f(x):
        send, receive = trio.open_memory_channel(0)

        async def produce():
            async with send:
                for row in x:
                    await send.send(row)
                await send.send(x.T[0])
                await send.send(np.exp(x))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce)
            return sum([np.sum(y * y) async for y in receive])

    x = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    expected = 2 * x + 2 * np.exp(2 * x)
    expected[:, 0] += 2 * x[:, 0]
    np.testing.assert_allclose(zyg.gradient(f, x)[0], expected, rtol=1e-14)


# Events, shared state, start


def test_an_event_and_a_shared_list(trio):
    async def f(x):
        shared, ready = [], trio.Event()

        async def cube():
            shared.append(x**3)
            ready.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(cube)
            await ready.wait()
            return shared[0]

    assert zyg.gradient(f, 2.0) == (12.0,)


def test_start_hands_over_a_value(trio):
    async def f(x):
        async def service(factor, *, task_status=trio.TASK_STATUS_IGNORED):
            task_status.started(factor * x)
            await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            y = await nursery.start(service, 3, name="service")
        return y * x

    assert zyg.gradient(f, 2.0) == (12.0,)


def test_a_task_that_never_says_that_it_started(trio):
    async def f(x):
        async def service(task_status):
            return x

        async with trio.open_nursery() as nursery:
            await nursery.start(service)

    with pytest.raises(ExceptionGroup) as caught:
        zyg.gradient(f, 2.0)
    assert caught.group_contains(RuntimeError, match="without calling task_status.started")


def test_tasks_have_trios_names_and_errors(trio):
    names = []

    async def f(x):
        async def note():
            names.append(trio.lowlevel.current_task().name)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(note)
            nursery.start_soon(note, name="chosen")
            with pytest.raises(TypeError, match="expected an async function"):
                nursery.start_soon(int)
        return x

    assert zyg.gradient(f, 1.0) == (1.0,)
    assert min(names) == "chosen"
    assert max(names).endswith("note")


def test_nested_nurseries_and_semaphores(trio):
    async def f(x):
        total, limit = [0.0], trio.Semaphore(2)

        async def leaf(k):
            async with limit:
                y = k * x
                await trio.lowlevel.checkpoint()
                total[0] = total[0] + y * y

        async def branch(k):
            async with trio.open_nursery() as nursery:
                for j in range(3):
                    nursery.start_soon(leaf, 3 * k + j)

        async with trio.open_nursery() as nursery:
            for k in range(3):
                nursery.start_soon(branch, k)
        return total[0]

    assert zyg.gradient(f, 0.5) == (204.0,)


def test_tasks_change_a_number_in_turn_under_a_lock(trio):
    async def f(x):
        state, lock = [x], trio.Lock()

        async def double():
            async with lock:
                y = state[0]
                await trio.lowlevel.checkpoint()
                state[0] = y * 2

        async with trio.open_nursery() as nursery:
            for _ in range(6):
                nursery.start_soon(double)
        return state[0]

    assert zyg.gradient(f, 1.5) == (64.0,)


# Cancellation and exceptions


def test_a_producer_that_is_cancelled(trio):
    async def f(x):
        send, receive = trio.open_memory_channel(0)

        async def produce():
            k = 0
            while True:
                k += 1
                await send.send(k * x)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce)
            total = sum([await receive.receive() ** 2 for _ in range(3)])
            nursery.cancel_scope.cancel()
        return total

    assert zyg.gradient(f, 2.0) == (56.0,)


@pytest.mark.parametrize("arrives", [True, False])
def test_a_receive_with_a_timeout(trio, arrives):
    async def f(x):
        send, receive = trio.open_memory_channel(1)
        if arrives:
            send.send_nowait(x**3)
        with trio.move_on_after(0) as scope:
            return await receive.receive()
        assert scope.cancelled_caught
        with pytest.raises(trio.TooSlowError), trio.fail_after(0):
            await receive.receive()
        return 4 * x

    # An expired scope is noticed at a checkpoint, also by a receive that need not wait.
    assert zyg.gradient(f, 2.0) == (4.0,)


def test_a_shielded_scope_and_a_branch_after_a_timeout(trio):
    async def f(x):
        send, receive = trio.open_memory_channel(1)
        with trio.CancelScope() as outer:
            outer.cancel()
            with trio.CancelScope(shield=True):
                await send.send(x * x)
            await receive.receive()
        return 2 * receive.receive_nowait()

    assert zyg.gradient(f, 3.0) == (12.0,)


def test_what_a_task_sent_before_it_raised_counts(trio):
    async def f(x):
        send, receive = trio.open_memory_channel(1)

        async def fails():
            await send.send(x**2)
            raise ValueError("too late")

        with pytest.raises(ExceptionGroup):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(fails)
        return 2 * receive.receive_nowait()

    assert zyg.gradient(f, 3.0) == (12.0,)


def test_an_exception_group_leaves_unchanged(trio):
    errors = [ValueError("one"), KeyError("two")]

    async def f(x):
        async def fails(error):
            await trio.testing.wait_all_tasks_blocked()
            raise error

        async with trio.open_nursery() as nursery:
            for error in errors:
                nursery.start_soon(fails, error)

    with pytest.raises(ExceptionGroup) as caught:
        zyg.gradient(f, 3.0)
    assert set(caught.value.exceptions) == set(errors)
    assert not getattr(errors[0], "__notes__", [])
    assert zyg.nestlevel() == 0
    assert zyg.gradient(lambda x: x * x, 3.0) == (6.0,)


@pytest.mark.filterwarnings("ignore::trio.TrioDeprecationWarning")
def test_strict_exception_groups_is_trios(trio):
    async def f(x):
        async with trio.open_nursery(strict_exception_groups=False):
            raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        zyg.gradient(f, 1.0)


def test_an_interrupt_leaves_unchanged(trio):
    async def f(x):
        async def interrupted():
            raise KeyboardInterrupt

        async with trio.open_nursery() as nursery:
            nursery.start_soon(interrupted)

    with pytest.raises(BaseExceptionGroup) as caught:
        zyg.gradient(f, 1.0)
    assert caught.group_contains(KeyboardInterrupt)
