"""An engine of this process: actors on threads of their own, to which everything is pickled."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context

import cloudpickle

from zyg.actors import host
from zyg.actors.calls import Remote, called
from zyg.actors.host import hosted
from zyg.tasks.recipes import plain
from zyg.tasks.shipping import ship


class Near(Remote):
    """How such an actor is reached."""

    def __init__(self, cls, args):
        self.key = id(self)
        self.thread = ThreadPoolExecutor(1)
        self.class_name = cls.__name__
        self._run(lambda *given: setattr(self, "actor", hosted(cls)(*given)), *args).result()

    def _run(self, f, *args):
        sent = cloudpickle.dumps(args)
        return self.thread.submit(Context().run, _received, f, sent)

    def ask(self, what, *args):
        """As an engine's."""
        return None, self._on_actor(getattr(host, what), *args)

    def _on_actor(self, f, *args):
        return self._run(lambda *given: f(self.actor, *given), *args)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args: self.method(name, args)

    def method(self, name, args):
        """The future of a call."""
        found = called(self, None, name, ship, args, {})
        if found is not None:
            return found
        return self._on_actor(lambda actor, *given: getattr(actor, name)(*given), *args)


def _received(f, sent):
    return pickle.loads(cloudpickle.dumps(f(*pickle.loads(sent))))


class InProcess:
    """The engine."""

    def make(self, cls, *args):
        """An actor, of plain arguments."""
        return Near(cls, plain(args))

    def get(self, future):
        """What a call gave."""
        return future.result()
