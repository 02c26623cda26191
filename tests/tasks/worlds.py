"""What runs the programs of `programs.py` side by side: tasks of trio and asyncio, and threads."""

import asyncio
import contextlib
import queue
import random
import threading
import time

import numpy as np
import trio

import zyg
from zyg import trio as zyg_trio

from .programs import compute, result


def body(program, k, values):
    """A task as a generator: it yields what its kind of task has to do, and is sent what came."""
    has = values[k]
    for action in program.tasks[k].actions:
        match action:
            case ("compute", *_):
                compute(has, action)
            case ("send", to, _, name):
                yield "send", (k, to), has[name]
            case ("receive", source, name):
                has[name] = yield "receive", (source, k)
            case ("start", child):
                values[child].update(has)
                yield "start", child
            case ("wait", child):
                yield "wait", child
            case ("fetch", child, theirs, mine):
                has[mine] = values[child][theirs]
            case ("fountain", n, name, made):
                got = yield "fountain", n, has[name]
                has[made] = sum(got)
            case ("failing", name, made):
                (sent,) = yield "failing", has[name]
                has[made] = 2.0 * sent
            case ("pause",):
                yield ("pause",)


class UnderTrio:
    """Tasks of trio, plain ("trio") or wrapped ("zyg.trio"), and threads of it."""

    kinds = ("trio", "zyg.trio", "thread", "zyg.thread")

    def __init__(self, program, rng):
        self.program, self.rng = program, rng

    async def run(self, x, y):
        program = self.program
        self.values = [{} for _ in program.tasks]
        self.values[0].update(x=x, y=y)
        self.channels = {key: trio.open_memory_channel(n) for key, n in program.capacities.items()}
        self.ended = [trio.Event() for _ in program.tasks]
        async with zyg_trio.open_nursery() as self.nursery:
            await self.task(0)
        return result(program, self.values[0])

    async def task(self, k):
        await self.steps(body(self.program, k, self.values))
        self.ended[k].set()

    async def steps(self, generator):
        got = None
        while True:
            try:
                effect, *rest = generator.send(got)
            except StopIteration:
                return
            got = await getattr(self, effect)(*rest)
            if self.rng.random() < 0.3:
                await trio.lowlevel.checkpoint()

    def in_thread(self, k):
        generator, got = body(self.program, k, self.values), None
        while True:
            try:
                effect, *rest = generator.send(got)
            except StopIteration:
                break
            got = trio.from_thread.run(getattr(self, effect), *rest)
        trio.from_thread.run_sync(self.ended[k].set)

    async def send(self, channel, value):
        await self.channels[channel][0].send({"message": [value, "of", channel]})

    async def receive(self, channel):
        return (await self.channels[channel][1].receive())["message"][0]

    async def start(self, k):
        kind = self.program.tasks[k].kind
        if kind == "trio":
            self.nursery._nursery.start_soon(self.task, k)
        elif kind == "zyg.trio":
            self.nursery.start_soon(self.task, k)
        elif kind == "thread":
            self.nursery._nursery.start_soon(trio.to_thread.run_sync, self.in_thread, k)
        else:
            self.nursery.start_soon(zyg_trio.to_thread.run_sync, self.in_thread, k)

    async def wait(self, k):
        await self.ended[k].wait()

    async def pause(self):
        await trio.lowlevel.checkpoint()

    async def fountain(self, n, x):
        send, receive = trio.open_memory_channel(0)

        async def forever():
            k = 0
            while True:
                k += 1
                await send.send(np.sin(x * k))

        async with zyg_trio.open_nursery() as nursery:
            nursery.start_soon(forever)
            got = [await receive.receive() for _ in range(n)]
            nursery.cancel_scope.cancel()
        return got

    async def failing(self, x):
        got = []

        async def fails():
            got.append(x**2)
            raise ValueError

        try:
            async with zyg_trio.open_nursery() as nursery:
                nursery.start_soon(fails)
        except* ValueError:
            pass
        return got


class UnderAsyncio(UnderTrio):
    """Tasks of asyncio."""

    kinds = ("asyncio",)

    async def run(self, x, y):
        program = self.program
        self.values = [{} for _ in program.tasks]
        self.values[0].update(x=x, y=y)
        self.channels = {key: asyncio.Queue(max(n, 1)) for key, n in program.capacities.items()}
        self.ended = [asyncio.Event() for _ in program.tasks]
        async with asyncio.TaskGroup() as self.group:
            await self.task(0)
        return result(program, self.values[0])

    async def steps(self, generator):
        got = None
        while True:
            try:
                effect, *rest = generator.send(got)
            except StopIteration:
                return
            got = await getattr(self, effect)(*rest)
            if self.rng.random() < 0.3:
                await asyncio.sleep(0)

    async def send(self, channel, value):
        await self.channels[channel].put(value)

    async def receive(self, channel):
        return await self.channels[channel].get()

    async def start(self, k):
        self.group.create_task(self.task(k))

    async def pause(self):
        await asyncio.sleep(0)

    async def fountain(self, n, x):
        messages = asyncio.Queue(1)

        async def forever():
            k = 0
            while True:
                k += 1
                await messages.put(np.sin(x * k))

        task = asyncio.create_task(forever())
        got = [await messages.get() for _ in range(n)]
        task.cancel()
        return got

    async def failing(self, x):
        got = []

        async def fails():
            got.append(x**2)
            raise ValueError

        await asyncio.gather(fails(), return_exceptions=True)
        return got


class UnderThreads:
    """Threads, plain ("thread") or wrapped ("zyg.thread")."""

    kinds = ("thread", "zyg.thread")

    def __init__(self, program, rng):
        self.program, self.rng = program, rng

    def run(self, x, y):
        program = self.program
        self.values = [{} for _ in program.tasks]
        self.values[0].update(x=x, y=y)
        self.channels = {key: queue.Queue(max(n, 1)) for key, n in program.capacities.items()}
        self.ended = [threading.Event() for _ in program.tasks]
        self.threads, self.errors = [], []
        self.task(0)
        for thread in self.threads:
            thread.join()
        if self.errors:
            raise self.errors[0]
        return result(program, self.values[0])

    def task(self, k):
        generator, got = body(self.program, k, self.values), None
        while True:
            try:
                effect, *rest = generator.send(got)
            except StopIteration:
                return
            got = getattr(self, effect)(*rest)
            if self.rng.random() < 0.2:
                time.sleep(0)

    def guarded(self, k):
        try:
            self.task(k)
        except BaseException as error:
            self.errors.append(error)
        finally:
            self.ended[k].set()

    def send(self, channel, value):
        self.channels[channel].put(value)

    def receive(self, channel):
        return self.channels[channel].get(timeout=100)

    def start(self, k):
        wrapped = self.program.tasks[k].kind == "zyg.thread"
        made = zyg.threads.Thread if wrapped else threading.Thread
        thread = made(target=self.guarded, args=(k,), daemon=True, name=f"task {k}")
        self.threads.append(thread)
        thread.start()

    def wait(self, k):
        self.ended[k].wait()

    def pause(self):
        time.sleep(0)

    def fountain(self, n, x):
        messages, stop = queue.Queue(1), threading.Event()

        def forever():
            k = 0
            while not stop.is_set():
                k += 1
                messages.put(np.sin(x * k))

        thread = zyg.threads.Thread(target=forever, daemon=True)
        thread.start()
        got = [messages.get(timeout=100) for _ in range(n)]
        stop.set()
        while thread.is_alive():  # it may be waiting for room
            try:
                messages.get_nowait()
            except queue.Empty:
                thread.join(0.0001)
        return got

    def failing(self, x):
        got = []

        def fails():
            got.append(x**2)
            raise ValueError

        with contextlib.suppress(ValueError):
            zyg.threads.map(lambda _: fails(), [0])
        return got


WORLDS = {"trio": UnderTrio, "asyncio": UnderAsyncio, "threads": UnderThreads}


def concurrent(world, grown, seed):
    """The program as a function to be differentiated, under a schedule that a seed chooses."""

    def f(x, y):
        rng = random.Random(seed)
        trio._core._run._r.seed(seed)
        return WORLDS[world](grown, rng).run(x, y)

    return f


def gradient_of(world, f, *args):
    """The value and the gradient, with the verb that this kind of program needs."""
    if world == "asyncio":

        async def awaited(*args):
            return await f(*args)

        return asyncio.run(zyg.value_and_gradient_async(awaited, *args))
    return zyg.value_and_gradient(f, *args)
