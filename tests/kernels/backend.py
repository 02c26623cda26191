"""Kernels as plain Python: to compile one takes a second."""

from zyg.broadcasting import calls, sites
from zyg.kernels.launch import plan_for


def forget_plans():
    """Have the next calls make plans, as the backend may be another."""
    calls._plans.clear()
    sites._sites.clear()


def in_python(monkeypatch):
    """Run the text of kernels as plain Python, until the patch is undone."""

    def plan(program, operands, outputs, target):
        return plan_for(program, operands, outputs, target._replace(backend="python"))

    forget_plans()
    monkeypatch.setattr(calls, "plan_for", plan)
