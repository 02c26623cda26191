"""An engine of this process: actors on threads of their own, to which everything is pickled."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context

import cloudpickle

from zyg.actors.calls import ActorCall, Remote, demand_callable, sessions, strand_of_call
from zyg.actors.host import Method, hosted, zyg_back, zyg_call, zyg_close, zyg_end
from zyg.core.strand import active
from zyg.tasks.recipes import plain
from zyg.tasks.shipping import ship, version


class Near(Remote):
    """How such an actor is reached."""

    def __init__(self, cls, args):
        self.key = id(self)
        self.thread = ThreadPoolExecutor(1)
        self.name = cls.__name__
        self._run(lambda *given: setattr(self, "actor", hosted(cls)(*given)), *args).result()

    def _run(self, f, *args):
        sent = cloudpickle.dumps(args)
        return self.thread.submit(Context().run, _received, f, sent)

    def call(self, *args):
        """As an engine's."""
        return None, self._on_actor(zyg_call, version(), *args)

    def back(self, *args):
        """As an engine's."""
        return self._on_actor(zyg_back, *args)

    def close(self, token):
        """As an engine's."""
        self._on_actor(zyg_close, token)

    def end(self, token):
        """As an engine's."""
        self._on_actor(zyg_end, token)

    def raised(self, name, error, said):
        """As an engine's."""
        return error

    def _on_actor(self, f, *args):
        return self._run(lambda *given: f(self.actor, *given), *args)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args: self.method(name, args)

    def method(self, name, args):
        """The future of a call."""
        method = Method(name, f"{self.name}.{name}")
        demand_callable(method.__name__)
        if active.get():
            recipe, operands, constants = ship(method, args, {})
            if found := strand_of_call(self, method.__name__, operands):
                made = ActorCall(self, method.__name__, *found)
                made.begin(recipe, constants)
                return made
        sessions.close_ended(self)
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
