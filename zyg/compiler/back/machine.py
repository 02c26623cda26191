"""From the text of a kernel to machine code: numba, imported with the first kernel not on disk.

numba's functions take arrays as structures that only numba knows to make. So each library holds, as
well as the function `kernel` of the text, an entry with a signature of C, which a process without
numba calls too:

    int entry(const int64_t values[], const int64_t layouts[])

Per parameter, `values` holds a number (a double for floats) or the address of an array object.
`layouts` holds shape and strides of each array. The address of the elements is the first field of
an array object in NumPy's binary interface, right after the head of every Python object
(PyArrayObject_fields in numpy/ndarraytypes.h); asking for it from Python takes longer than a call.
The entry returns what `kernel` does, 0 or 1, and -1 where something was raised.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import sigutils, types
from numba.core.compiler import Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.np.arrayobj import make_array, populate_array

from zyg.compiler.back.native import NoAlias

_WORD, _DOUBLE, _STATUS = ir.IntType(64), ir.DoubleType(), ir.IntType(32)
_HEAD = object.__basicsize__


@global_compiler_lock  # type: ignore[untyped-decorator]
def library_of(namespace: dict[str, Any], entry: str) -> Any:
    """numba's library with the `kernel` of a namespace and its entry, under this name."""
    parameters, result = sigutils.normalize_signature(  # type: ignore[no-untyped-call]
        namespace["signature"]
    )
    typing, target = cpu_target.typing_context, cpu_target.target_context
    typing.refresh()
    target.refresh()
    kernel = compile_extra(  # type: ignore[no-untyped-call]
        typing,
        target,
        namespace["kernel"],
        parameters,
        result,
        _flags(),
        {},
        pipeline_class=NoAlias,
    )
    library = kernel.library
    module = library.create_ir_module(entry)
    _define_entry(module, entry, target, kernel.fndesc)
    library.add_ir_module(module)
    library.finalize()
    return library


def _flags() -> Any:
    flags: Any = Flags()  # type: ignore[no-untyped-call]
    flags.error_model = "numpy"
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.no_compile = True  # yet: the entry is still to come
    return flags


def _define_entry(module: Any, name: str, target: Any, kernel: Any) -> None:
    entry = ir.Function(module, ir.FunctionType(_STATUS, [_WORD.as_pointer()] * 2), name)
    entry.linkage = "weak_odr"  # the same text may be compiled again
    builder = ir.IRBuilder(entry.append_basic_block())
    values, layouts = entry.args
    args, word = [], 0
    for k, type in enumerate(kernel.argtypes):
        if isinstance(type, types.Array):
            fields = [_load(builder, layouts, word + d, _WORD) for d in range(2 * type.ndim)]
            word += len(fields)
            args.append(_array(builder, target, type, _load(builder, values, k, _WORD), fields))
        else:
            args.append(_number(builder, target, type, values, k))
    function = target.declare_function(module, kernel)
    # Inlined, its parameters would no longer be known to be apart.
    status, returned = target.call_conv.call_function(
        builder, function, kernel.restype, kernel.argtypes, args, attrs=("noinline",)
    )
    returned = builder.trunc(returned, _STATUS)
    builder.ret(builder.select(status.is_ok, returned, _STATUS(-1)))


def _load(builder: Any, words: Any, k: int, type: Any) -> Any:
    return builder.load(builder.bitcast(builder.gep(words, [_WORD(k)]), type.as_pointer()))


def _number(builder: Any, target: Any, type: Any, values: Any, k: int) -> Any:
    wide, narrow = (
        (_DOUBLE, builder.fptrunc) if isinstance(type, types.Float) else (_WORD, builder.trunc)
    )
    number, wanted = _load(builder, values, k, wide), target.get_value_type(type)
    return number if wanted == wide else narrow(number, wanted)


def _array(builder: Any, target: Any, type: Any, address: Any, layout: list[Any]) -> Any:
    array = make_array(type)(target, builder)  # type: ignore[no-untyped-call]
    elements = target.get_data_type(type.dtype).as_pointer()
    field = builder.inttoptr(builder.add(address, _WORD(_HEAD)), elements.as_pointer())
    populate_array(  # type: ignore[no-untyped-call]
        array,
        data=builder.load(field),
        shape=layout[: type.ndim],
        strides=layout[type.ndim :],
        itemsize=target.get_abi_sizeof(elements.pointee),
        meminfo=None,
    )
    return array._getvalue()
