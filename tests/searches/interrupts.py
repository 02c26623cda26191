"""Interrupts at every instruction of a derivative: afterwards all is as it was.

A case is a program, a kind of point, and which point of that kind is hit by an exception. The kinds
are where Python may raise one that comes from outside, as Ctrl-C does: where a function begins,
after a call of one in C, where a loop goes back; and, which is more than it ever does, any
instruction. Those are zyg's own: what other libraries leave behind is theirs. Nor is it where a
with statement has taken a lock: from 3.14 on Python raises there, too, and leaves it taken,
whosever it is. ``--signals`` has a timer raise it instead, at random moments anywhere.
"""

import builtins
import dis
import functools
import random
import signal
import sys
import threading
import time
import types
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import zyg
import zyg.numpy
from zyg.base.config import settings
from zyg.core.strand import active

from ._interrupted import PROGRAMS, Stop, awaited, caught, of_trio
from .search import Search, main

OURS = str(Path(zyg.__file__).parent)


# What is the user's, or everybody's


def snapshot(program):
    """What a derivative must leave as it was."""
    return {
        "nestlevel": zyg.nestlevel(),
        "strands": active.get(),
        "zeros": type(zyg.numpy.zeros(2)),
        "settings": settings(),
        "NumPy's errors": np.geterr(),
        "writeable": [a.flags.writeable for a in program.arrays],
        "contents": [a.tobytes() for a in program.arrays],
        "modules": [names_in(vars(m)) for m in program.modules],
        "adopted": zyg.adopted().modules,
        "finders": [*sys.meta_path],
        "import": builtins.__import__,
        "random": None if program.random else np.random.get_state()[1].tobytes(),
    }


def names_in(names, depth=0):
    """The objects under names, and in what is under them, by their ids."""
    found = {}
    for name, x in list(names.items()):
        found[name] = id(x)
        inside = (
            x if isinstance(x, dict)
            else dict(enumerate(x)) if isinstance(x, (list, tuple))
            else {"func": x.func, "args": x.args} if isinstance(x, functools.partial)
            else dict(vars(x)) if type(x).__module__ == "lib" or isinstance(x, type)
            else {
                "defaults": x.__defaults__ or (), "code": x.__code__,
                **{f"cell {k}": c.cell_contents for k, c in enumerate(x.__closure__ or ())},
            } if isinstance(x, types.FunctionType) and x.__module__ == "lib"
            else {}
        )  # fmt: skip
        if inside and depth < 3 and not name.startswith("__"):
            found[name] = id(x), names_in({str(k): v for k, v in inside.items()}, depth + 1)
    return found


def difference(before, after):
    return "; ".join(f"{k}: {before[k]} -> {after[k]}" for k in before if before[k] != after[k])


# Points

CALLS, INSTRUCTIONS = "where Python looks for signals", "at any instruction of zyg's"
KINDS = CALLS, INSTRUCTIONS


@functools.cache
def _loops(code):
    """Where a loop goes back."""
    return {
        step.offset
        for step in dis.get_instructions(code)
        if "JUMP_BACKWARD" in step.opname and "NO_INTERRUPT" not in step.opname
    }


@functools.cache
def _handlers(code):
    """By instruction: where Python goes on from an exception there.

    And where it would from a signal that it finds then, if it looks for some: else None.
    """
    entries, found, before = dis._parse_exception_table(code), {}, ""
    for step in dis.get_instructions(code):
        at = next((e.target for e in entries if e.start <= step.offset < e.end), 0)
        looks = step.opname in ("RESUME", "CALL", "CALL_FUNCTION_EX") or step.offset in _loops(code)
        # Where it calls, and does not look, or is not to.
        enters = step.opname == "BEFORE_WITH" or (before, step.opname) == ("LOAD_SPECIAL", "CALL")
        looks, before = looks and not enters, step.opname
        if step.opname in ("SEND", "YIELD_VALUE"):  # what it awaits goes on: it does not look
            at = None
        found[step.offset] = at, at if looks else -1 if enters else None
    return found


class Hit:
    """An exception at the nth point of a kind in what is run."""

    def __init__(self, kind, at, error):
        self.kind, self.at, self.error, self.passed, self.where = kind, at, error, 0, ""
        self.handled = {}  # by frame: where it would go on from a signal after its last call

    def _reach(self, frame, what):
        self.passed += 1
        if self.passed - 1 == self.at:
            code = frame.f_code
            self.where = f"{what} in {code.co_qualname} ({code.co_filename}:{frame.f_lineno})"
            if self.error is not None:
                raise self.error

    def _profile(self, frame, event, arg):
        begins = event == "call" and frame.f_lasti <= 2
        called = event == "c_return" and arg.__name__ != "__enter__"
        if (begins or called) and frame.f_code.co_filename.startswith(OURS):
            self._reach(frame, event)

    def _calls(self, frame, event, arg):
        if not frame.f_code.co_filename.startswith(OURS) or not _loops(frame.f_code):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._loop

    def _loop(self, frame, event, arg):
        if event == "opcode" and frame.f_lasti in _loops(frame.f_code):
            self._reach(frame, "loop")
        return self._loop

    def _instructions(self, frame, event, arg):
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self.handled[id(frame)] = _handlers(frame.f_code)[frame.f_lasti][0]
        return self._instruction

    def _instruction(self, frame, event, arg):
        if event == "opcode":
            handler, then = _handlers(frame.f_code)[frame.f_lasti]
            if handler is not None and handler == self.handled[id(frame)]:  # else none can come
                self._reach(frame, f"instruction {frame.f_lasti}")
            if then is not None:
                self.handled[id(frame)] = then
        return self._instruction

    def run(self, f):
        calls, profile, all = self._calls, self._profile, self._instructions  # held, as they run
        if self.kind == CALLS:
            sys.settrace(calls)
            sys.setprofile(profile)
        else:
            sys.settrace(all)
        try:
            return f()
        finally:
            sys.settrace(None)
            sys.setprofile(None)


@functools.cache
def points(number, kind):
    """How many points of a kind a program passes."""
    program = PROGRAMS[number]()
    for _ in range(2):  # what is imported or compiled the first time
        program.run()
    hit = Hit(kind, -1, None)
    hit.run(program.run)
    return hit.passed


@dataclass
class Case:
    program: int
    kind: str
    at: int
    error: type

    def __str__(self):
        return f"{PROGRAMS[self.program].__name__}, {self.error.__name__} {self.at}, {self.kind}"


def case(number):
    number, program = divmod(number, len(PROGRAMS))
    kind = KINDS[number % 2]
    step = 7919  # from all over the program, and each point once before one comes twice
    return Case(program, kind, number // 2 * step, (KeyboardInterrupt, Stop)[number // 2 % 2])


def check(case):
    program = PROGRAMS[case.program]()
    program.value = program.run()
    before, threads = snapshot(program), threading.enumerate()
    hit = Hit(case.kind, case.at % points(case.program, case.kind), case.error("on purpose"))
    lost = []
    # Its text: the exception has frames, in whose variables pullbacks may be.
    sys.unraisablehook, hook = lambda e: lost.append(str(e.object)), sys.unraisablehook
    outcome, error = "raised", None
    try:
        found = hit.run(program.run)
        outcome = "not reached" if not hit.where else "caught by f"
        if hit.where and PROGRAMS[case.program] is not caught:
            outcome = "lost in a finalizer" if lost else "swallowed"
            if " in Trace.__del__ " in hit.where:  # which did not begin: the next way in does it
                hit.error = None
                zyg.gradient(lambda x: x * x, 3.0)
    except (KeyboardInterrupt, Stop) as raised:
        error = raised  # kept, as a notebook keeps it
    except BaseExceptionGroup as raised:
        error, outcome = raised, "raised in a group"
    except BaseException as raised:
        raised.add_note(hit.where)
        raise
    finally:
        sys.unraisablehook = hook
    ends = (
        "config.__exit__",
        "config.__enter__",
        "Adoption.__exit__",
    )  # which Python calls, or does not
    if program.keeps or any(f" in {end} " in hit.where for end in ends):
        error = hit.error = None
    where = f"{case}: {hit.where}: "
    assert outcome != "swallowed", f"{where}swallowed by zyg"
    if outcome not in ("raised", "raised in a group"):
        assert_same(found, program.value, where)
    assert_as_before(program, before, threads, where)
    del error
    return f"{outcome} {case.kind}"


def assert_as_before(program, before, threads, where):
    until = time.monotonic() + 20
    while more := {t for t in set(threading.enumerate()) - set(threads) if t.is_alive()}:
        assert time.monotonic() < until, f"{where}threads that are left: {more}"
        time.sleep(0.001)
    after = snapshot(program)
    assert after == before, where + difference(before, after)
    assert_same(program.run(), program.value, where + "the next: ")


def assert_same(found, value, where):
    assert type(found) is type(value), f"{where}{found} instead of {value}"
    if isinstance(value, (list, tuple)):
        assert len(found) == len(value), where
        for a, b in zip(found, value, strict=True):
            assert_same(a, b, where)
    else:
        same = np.array_equal(found, value) or np.allclose(found, value, rtol=1e-12)
        assert same, f"{where}{found} instead of {value}"


SEARCH = Search(case, check, gate=240)


# By a timer


def by_signal(number):
    return number % len(PROGRAMS), number


def check_by_signal(case):
    """Ctrl-C, or another signal whose handler raises, at a random moment."""
    which, seed = case
    chance, program = random.Random(seed), PROGRAMS[which]()
    program.value = program.run()
    start = time.perf_counter()
    program.run()
    took = time.perf_counter() - start
    before, threads = snapshot(program), threading.enumerate()
    armed, outcome, where, error = [True], "too late", PROGRAMS[which].__name__ + ": ", None

    def handler(*_):
        if armed:
            raise KeyboardInterrupt if seed % 2 else Stop

    # trio is safe from Ctrl-C, for which it has a handler of its own, and from nothing else
    by_hand = PROGRAMS[which] in (of_trio, awaited)
    timer = threading.Timer(chance.random() * took, signal.raise_signal, [signal.SIGINT])
    old = signal.signal(signal.SIGALRM, handler)
    try:
        if by_hand:
            timer.start()
        else:
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, chance.random() * took))
        program.run()
        if by_hand:
            timer.join()
        armed.clear()
    except (KeyboardInterrupt, Stop, BaseExceptionGroup) as raised:
        error, outcome = raised, "raised"
        where += " in ".join(reversed(names_of_frames(raised.__traceback__)))
    except (KeyError, RuntimeError) as raised:
        if "Thread.start" not in names_of_frames(raised.__traceback__):
            raise
        outcome = "Python's own threads were interrupted"
    finally:
        armed.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    if difference(before, snapshot(program)):
        error = None  # at the end of a with statement, which Python may not have called
        outcome = f"as before when the exception is gone, {outcome}"
    assert_as_before(program, before, threads, where)
    del error
    return f"{outcome}, {PROGRAMS[which].__name__}"


def names_of_frames(traceback):
    names = []
    while traceback is not None:
        names.append(traceback.tb_frame.f_code.co_qualname)
        traceback = traceback.tb_next
    return names


if __name__ == "__main__":
    if "--signals" in sys.argv:
        sys.argv.remove("--signals")
        SEARCH = Search(by_signal, check_by_signal)
    main(SEARCH, __doc__)
