"""The picture of a concurrent program: lanes for tasks, arrows for messages and their adjoints."""

import re
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import trio as plain_trio

import zyg
import zyg.numpy as znp
import zyg.threads
from zyg import trio
from zyg.tools import timeline
from zyg.tools.timeline import Task, grouped

DOCUMENTED = Path(__file__).parents[2] / "docs" / "tasks.svg"
SVG = "{http://www.w3.org/2000/svg}"


async def squares(x):
    """A producer's multiples of x, squared and summed by the first task."""
    send, receive = trio.open_memory_channel(0)

    async def produce():
        async with send:
            for k in range(1, 5):
                await send.send(k * x)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(produce)
        return sum([np.square(y) async for y in receive])


def of_threads(n, steps=1):
    def work(k, x):
        for _ in range(steps):
            x = np.sin(x) * k
        return x

    return lambda x: sum(zyg.threads.map(work, range(1, n + 1), [x] * n))


class Picture:
    """An svg, taken apart by the classes of its groups."""

    def __init__(self, text):
        self.root = ET.fromstring(text)
        self.width = float(self.root.get("width"))

    def groups(self, kind):
        return [g for g in self.root.iter(f"{SVG}g") if g.get("class") == kind]

    def texts(self, kind):
        return [t.text for g in self.groups(kind) for t in g.iter(f"{SVG}text")]

    def paths(self, kind, line):
        return [
            [float(number) for number in p.get("d").replace(",", " ")[1:].replace("C", "").split()]
            for g in self.groups(kind) for p in g.iter(f"{SVG}path") if p.get("class") == line
        ]  # fmt: skip

    def xs(self, kind):
        return [float(s.get("x", s.get("cx"))) for g in self.groups(kind) for s in g[1:2]]


def picture_of(f, *args):
    return Picture(zyg.explain(f, *args).svg())


# Pictures


def test_each_task_has_a_lane_with_its_name_and_path():
    picture = picture_of(squares, 3.0)

    assert picture.texts("lane") == ["main (root)", "produce (path 0)"]
    assert picture.texts("entry").count("square") == 4
    assert {"argument 0", "value"} <= set(picture.texts("entry"))


def test_each_message_has_an_arrow_and_an_adjoint_that_goes_the_other_way():
    picture = picture_of(squares, 3.0)

    there, back = picture.paths("arrow", "value"), picture.paths("arrow", "adjoint")
    assert len(there) == len(back) == 1 + 4  # x to the producer, four messages from it
    assert len(picture.groups("message")) == 5
    for go, come in zip(there, back, strict=True):
        assert go[0] < go[-2]  # the value, from left to right
        assert come[0] > come[-2]  # its cotangent, from right to left
        assert (go[-1] - go[1]) * (come[-1] - come[1]) < 0  # and between the same two lanes
    dashed = [p for p in picture.root.iter(f"{SVG}path") if p.get("class") == "adjoint"]
    assert all(p.get("stroke-dasharray") for p in dashed)


def test_lanes_have_a_line_of_time_and_one_of_the_adjoint_task():
    picture = picture_of(of_threads(3), 0.5)

    assert len(picture.groups("lane")) == 4
    for lane in picture.groups("lane"):
        assert [p.get("class") for p in lane.iter(f"{SVG}path")] == ["value", "adjoint"]


def test_entries_stand_from_left_to_right_and_inside_the_picture():
    picture = picture_of(squares, 3.0)

    boxes = picture.groups("entry")
    first = min(boxes, key=lambda g: float(g[1].get("x")))
    last = max(boxes, key=lambda g: float(g[1].get("x")))
    assert first.find(f"{SVG}text").text == "argument 0"
    assert last.find(f"{SVG}text").text == "value"
    assert max(picture.xs("entry")) + 88 < picture.width


def test_a_box_tells_the_lines_that_it_stands_for():
    titles = [g.find(f"{SVG}title").text for g in picture_of(squares, 3.0).groups("entry")]

    assert sum("await send.send(k * x)" in title for title in titles) == 4


def test_a_message_through_several_tasks_is_several_arrows():
    def f(x):
        def second(y):
            return np.sin(y)

        def first(y):
            return zyg.threads.map(second, [2 * y])[0]

        return zyg.threads.map(first, [x])[0]

    picture = picture_of(f, 1.0)

    assert picture.texts("lane")[1:] == ["first-0 (path 0)", "second-0 (path 0.0)"]
    assert len(picture.groups("arrow")) == 3  # the last one from the inner task to the outermost


def test_more_than_twelve_tasks_share_lanes():
    picture = picture_of(of_threads(20), 0.5)

    assert picture.texts("lane") == ["main (root)", "work, 20 tasks"]
    assert "20 x 2 entries" in picture.texts("entry")
    titles = [g.find(f"{SVG}title").text for g in picture.groups("arrow")]
    assert "20 values, and the cotangents" in titles


def test_messages_between_tasks_that_share_a_lane_stay_in_it():
    async def ring(x):
        links = [trio.open_memory_channel(1) for _ in range(20)]

        async def station(receive, send):
            await send.send(np.sin(await receive.receive()))

        async with trio.open_nursery() as nursery:
            for (_, receive), (send, _) in pairwise(links):
                nursery.start_soon(station, receive, send)
            await links[0][0].send(x)
        return await links[-1][1].receive()

    picture = picture_of(ring, 0.5)

    assert picture.texts("lane") == ["main (root)", "station, 19 tasks"]
    inside = [p for p in picture.paths("arrow", "value") if abs(p[1] - p[-1]) < 10]
    assert len(inside) == 18
    assert len(picture.groups("arrow")) == 20


def test_a_task_that_noted_nothing_has_a_name_and_no_line():
    def f(x):
        zyg.threads.map(print, [])
        zyg.threads.map(str, [1])
        return np.sin(x)

    lanes = picture_of(f, 0.5).groups("lane")

    assert [len(list(lane.iter(f"{SVG}path"))) for lane in lanes] == [2, 0]


def test_a_long_program_has_one_box_for_each_stretch_between_messages():
    picture = picture_of(of_threads(4, steps=100), 0.5)

    assert picture.texts("entry").count("200 entries") == 4
    assert picture.width < 1500


def test_request_and_reply_stay_apart_in_a_long_program():
    async def f(x):
        ask, asked = trio.open_memory_channel(0)
        reply, replied = trio.open_memory_channel(0)

        async def server():
            async for y in asked:
                await reply.send(np.sin(y) * y)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(server)
            async with ask:
                for _ in range(20):
                    await ask.send(2 * x)
                    x = 0.5 * await replied.receive()
        return x

    picture = picture_of(f, 0.3)

    assert picture.texts("entry").count("2 entries") >= 20
    assert len(picture.groups("arrow")) == 40
    assert all(go[0] < go[-2] for go in picture.paths("arrow", "value"))


def test_a_program_too_large_for_a_picture_is_told_in_text():
    e = zyg.explain(of_threads(500), 0.5)

    with pytest.raises(ValueError, match="too many for a picture"):
        e.svg()
    assert "work, 500 tasks" in e.html()
    assert "<svg" not in e.html()


def test_arrays_that_threads_write_to_are_drawn():
    def f(x):
        b = znp.zeros(3)

        def put(k):
            b[k] = np.sin(k * x)

        zyg.threads.map(put, range(3))
        return np.sum(b)

    picture = picture_of(f, 0.5)

    assert len(picture.groups("lane")) == 4
    assert picture.texts("entry").count("write") == 3


def test_a_page_has_the_text_and_the_picture():
    e = zyg.explain(squares, 3.0)

    assert e.svg() in e.html()
    assert "produce (path 0)" in e.html()
    assert e.dot().count("->") > 10


# Text


def test_the_text_lists_tasks_with_their_entries_imports_and_exports():
    lines = str(zyg.explain(squares, 3.0)).splitlines()

    start = lines.index(" entries   imports   exports  task")
    main, produce, nothing, argument = lines[start + 1 :]
    assert main.split()[1:] == ["4", "1", "main", "(root)"]
    assert produce.split() == ["5", "1", "4", "produce", "(path", "0)"]
    assert nothing == ""
    assert argument == "argument 0: the value depends on it"
    (total,) = [line for line in lines if line.endswith("in all")]
    assert int(total.split()[0]) == int(main.split()[0]) + 5


def test_the_lines_of_all_tasks_are_told():
    text = str(zyg.explain(squares, 3.0))

    assert "5         0 B" in text[: text.index("await send.send(k * x)")]
    assert "np.square(y) async for y in receive" in text


def test_a_dependence_that_ends_in_another_task_is_found():
    def f(x):
        return zyg.threads.map(lambda y: np.floor(y) if int(y) else 0.0, [2.5 * x])[0]

    text = str(zyg.explain(f, 1.0))

    assert "argument 0: its gradient is zero" in text or "argument 0: its gradient is None" in text
    assert "int() at " in text


def test_tasks_of_executors_are_told():
    def f(x):
        with zyg.wrap_executor(ThreadPoolExecutor(2)) as pool:
            return sum(pool.map(lambda k: np.sin(k * x), [1.0, 2.0, 3.0]))

    e = zyg.explain(f, 0.5)

    assert len(Picture(e.svg()).groups("lane")) == 4
    assert "argument 0: the value depends on it" in str(e)


def test_plain_trio_is_one_task():
    async def f(x):
        done = []

        async def work():
            done.append(x * x)

        async with plain_trio.open_nursery() as nursery:
            nursery.start_soon(work)
        return done[0]

    text = str(zyg.explain(f, 3.0))

    assert "imports" not in text
    assert "argument 0: the value depends on it" in text


# Lanes


def tasks_of(*names, parent=()):
    return [Task(name, (*parent, k)) for k, name in enumerate(names)]


def test_few_tasks_have_a_lane_each():
    lanes = grouped([Task("main", ()), *tasks_of("f.<locals>.work", "work")])

    assert [label for label, _ in lanes] == ["main (root)", "work (path 0)", "work (path 1)"]


def test_many_tasks_are_grouped_by_name_and_then_lumped_together():
    many = [Task("main", ()), *tasks_of(*[f"work-{k}" for k in range(30)])]
    assert [label for label, _ in grouped(many)] == ["main (root)", "work, 30 tasks"]

    nested = [Task("leaf", (k, 0)) for k in range(30)]
    assert [label for label, _ in grouped(nested)] == ["leaf, 30 tasks"]

    different = tasks_of(*[f"task{chr(97 + k)}" for k in range(20)])
    lanes = grouped(different)
    assert len(lanes) == 12
    assert lanes[-1] == ("9 other tasks", list(range(11, 20)))


def test_tapes_are_merged_so_that_results_come_before_their_use():
    def entry(name, task, out, inputs=(), **options):
        return timeline.Entry(name, "line", task, ((task, out),), tuple(inputs), **options)

    first = [entry("import", 0, 0, [(1, 1)], is_import=True), entry("a", 0, 1, [(0, 0)])]
    second = [entry("b", 1, 0), entry("c", 1, 1, [(1, 0)])]

    assert [e.name for e in timeline.in_order([first, second])] == ["b", "c", "import", "a"]
    assert timeline.in_order([second]) is second


def test_the_picture_in_the_documentation_is_that_of_its_program():
    drawn = re.sub(r"<title>.*?</title>", "", zyg.explain(squares, 3.0).svg(), flags=re.DOTALL)

    assert DOCUMENTED.read_text() == drawn + "\n", "docs/tasks.md has the program: draw it again"
