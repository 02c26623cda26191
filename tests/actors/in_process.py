"""An engine of this process: actors on threads of their own, to which everything is pickled."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context

import cloudpickle

from zyg.actors import host
from zyg.actors.calls import born, called
from zyg.actors.host import hosted
from zyg.actors.sessions import Remote
from zyg.core.strand import active
from zyg.tasks.shipping import ship


class GoneError(OSError):
    """What this engine says of an actor that is not there."""


class Process:
    """What an actor lives in."""

    def __init__(self, cls, args):
        self.dead, self.thread = False, ThreadPoolExecutor(1)
        self.run(lambda *given: setattr(self, "actor", cls(*given)), *args).result()

    def run(self, f, *args):
        """The future of what a function gives, there."""
        sent = cloudpickle.dumps(args)
        return self.thread.submit(Context().run, _received, f, sent)


class Near(Remote):
    """How such an actor is reached; `dies(what)` says whether it does so at a message, and when."""

    def __init__(self, cls, args, restarts=0, dies=None, key=None):
        self.cls, self.restarts, self.dies = cls, restarts, dies or (lambda *_: None)
        self.key = key or id(self)
        self.class_name = cls.__name__
        self.process = Process(hosted(cls, cls.__name__ if key else ""), args)

    def ask(self, what, *args):
        """As an engine's."""
        return None, self._on_actor(getattr(host, what), *args, what=what)

    def is_lost(self, error):
        """As an engine's."""
        return isinstance(error, GoneError)

    def replace(self, *given):
        """As an engine's."""
        self.process = self.twin(*given).process

    def twin(self, *given):
        """As an engine's."""
        if self.dies("zyg_play"):
            raise GoneError("in the midst of zyg_play")
        return Near(self.cls, given, self.restarts, self.dies, self.key)

    def _on_actor(self, f, *args, what=""):
        process = self.process

        def run(*given):
            when = None if process.dead else self.dies(what)
            process.dead |= when == "before"
            if process.dead:
                raise GoneError(f"before {what}")
            found = f(process.actor, *given)
            process.dead = when == "after"
            if process.dead:
                raise GoneError(f"after {what}")
            return found

        return process.run(run, *args)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args: self.method(name, args)

    def method(self, name, args):
        """The future of a call."""
        found = called(self, self.cls, name, ship, args, {})
        if found is not None:
            return found
        return self._on_actor(lambda actor, *given: getattr(actor, name)(*given), *args)


def _received(f, sent):
    return pickle.loads(cloudpickle.dumps(f(*pickle.loads(sent))))


class InProcess:
    """The engine."""

    def __init__(self, restarts=0, dies=None):
        self.how = restarts, dies

    def make(self, cls, *args):
        """An actor; a gradient makes it where arguments are watched."""

        def make(*given):
            near = Near(cls, given, *self.how, key=object())
            return near, near

        found = born(cls, ship, args, {}, make) if active.get() else None
        return found or Near(cls, args, *self.how)

    def get(self, future):
        """What a call gave."""
        return future.result()
