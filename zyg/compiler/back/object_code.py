"""From LLVM text to object code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]

from zyg.compiler.back import elementary_text
from zyg.compiler.back.target import is_x86


def object_code(text: str, name: str, loops: bool = False, first: bool = False) -> bytes:
    """The object code of a text whose function `kernel` is to have this name.

    Vectors are in the text, or are to be made of its `loops`; or it is the first code.
    """
    machine = _machine(0 if first else 3)
    module = _parsed(text.replace("@kernel(", f"@{name}("))
    module.verify()
    if first:  # what it names of others it does not call
        _link(module, elementary_text.is_called, _defined)
    else:
        _optimise(module, machine, loops)
    with _places_computed() if loops else nullcontext():
        code: bytes = machine.emit_object(module)
    return code


def _optimise(module: Any, machine: Any, loops: bool) -> None:
    if loops:
        _keep_sums_in_order()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3 if loops else 2)
    tuning.loop_vectorization = tuning.slp_vectorization = loops
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    if loops:
        _define(module, passes)


def _define(module: Any, passes: Any) -> None:
    """Define the elementary functions that are called, now that the loops are what they will be."""
    try:
        kept = module.get_global_variable("llvm.compiler.used")
    except NameError:  # it calls none
        return
    kept.name, kept.linkage = "unused", llvm.Linkage.private
    cleaning = llvm.create_new_module_pass_manager()
    cleaning.add_global_dead_code_eliminate_pass()
    cleaning.run(module, passes)
    _link(module, elementary_text.is_ours, lambda name: llvm.parse_bitcode(_optimised(name)))
    inlining = llvm.create_new_module_pass_manager()
    inlining.add_always_inliner_pass()
    inlining.add_instruction_combine_pass()
    inlining.run(module, passes)


def _link(module: Any, wanted: Callable[[str], bool], defined: Callable[[str], Any]) -> None:
    """Define the elementary functions among those that a module declares."""
    called = [x.name for x in module.functions if wanted(x.name)]
    for name in called:
        module.link_in(defined(name))
    for name in called:
        module.get_function(name).linkage = llvm.Linkage.internal


@cache
def _optimised(name: str) -> bytes:
    """The bitcode of an elementary function."""
    module = _defined(name)
    _optimise(module, _machine(3), loops=True)
    code: bytes = module.as_bitcode()
    return code


def _defined(name: str) -> Any:
    """The module of an elementary function."""
    return _parsed(elementary_text.definition(name))


def _parsed(text: str) -> Any:
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = llvm.get_process_triple(), _data_layout()
    return module


@cache
def _data_layout() -> str:
    return str(_machine(0).target_data)


@cache
def _keep_sums_in_order() -> None:
    """A sum in a loop is made in order, and does not keep the rest from being vectors."""
    llvm.set_option("zyg", "-force-ordered-reductions")


@contextmanager
def _places_computed() -> Iterator[None]:
    """While it lasts, rounds compute where their elements are.

    Else each place of a loop has a pointer that moves along. There are soon more of them than
    registers, so that each round of a loop around others moves them in memory.
    """
    llvm.set_option("zyg", "-disable-lsr")
    try:
        yield
    finally:
        llvm.set_option("zyg", "-disable-lsr=false")  # as others use LLVM, too


@cache
def _machine(level: int) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features: str = llvm.get_host_cpu_features().flatten()
    if is_x86():
        features += ",-prefer-256-bit"  # as the text has vectors of 512
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=level, reloc="pic", jit=True
    )
