"""Every test here has a time limit: a deadlock fails, and does not hang.

The limit is far above what any test takes on a machine that is busy with other things.
"""

import faulthandler
import sys
import threading

import pytest

LIMIT = 300  # seconds


@pytest.fixture
def threads_change_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    raised = []

    def run():
        try:
            pyfuncitem.obj(**arguments)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="test", daemon=True)
    thread.start()
    thread.join(LIMIT)
    if thread.is_alive():
        faulthandler.dump_traceback(sys.__stderr__)
        pytest.fail(f"still running after {LIMIT} s")
    if raised:
        raise raised[0]
    return True
