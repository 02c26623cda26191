"""LLVM text that asks machine code, as Python would: whether it may run, then for what it gives.

An *ask* is a function of Python's, ``ask(f, args)``. It looks at what `Looks` lists; then the code
is called, with what else was looked up behind the arguments. If anything differs, the ask of Python
that it stands for is asked.

Others ask all that a compiled function has for a verb, one after the other: `call` is its
``__call__``, `verb` the table's entry of a verb, and `before` comes before the function of a verb,
where Python's functions have a place for that. Where none has an answer, Python goes on.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.base.late import raise_late
from zyg.compiler.back import object_layout, symbols
from zyg.compiler.back.c_abi import spelled_out
from zyg.compiler.back.compiled import functions
from zyg.compiler.back.looks import Looks


class Asking:
    """The functions of the text, for a class of compiled functions, and what calls them in Python.

    It has its function at one place in memory, and at the other `get` of the dictionary of its
    asks.
    """

    def __init__(
        self, entries: int, wrapped: int, called: Callable[..., Any], compiled: type, gradient: Any
    ) -> None:
        places = {"ENTRIES": entries, "WRAPPED": wrapped, "SIZE": object_layout.HEAD}
        places |= {f"ITEM_{k}": object_layout.ITEMS + 8 * k for k in range(3)}
        objects = {**_OBJECTS, "called": called, "compiled": compiled, "gradient_of": gradient}
        plain = ctypes.pythonapi.PyVectorcall_Function
        plain.restype, plain.argtypes = ctypes.c_void_p, [ctypes.py_object]
        addresses = {f"zyg_{name}": id(x) for name, x in objects.items()}
        named = "".join(f"@{name} = external global i8\n" for name in addresses)
        text = _TEXT
        for name, place in places.items():
            text = text.replace(name, str(place))
        self._held = objects
        self._at, self._code = functions(
            named + spelled_out(text), {**addresses, "zyg_plain": plain(gradient)}, True
        )
        self._ask = symbols.Method(b"ask", self._at["ask"], symbols.FASTCALL, None)
        # The class may be called after all modules are gone.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))

    def ask(self, f: Any, looks: Looks, code: Any, python: Any) -> Callable[..., Any]:
        """An ask for a function, which stands for one in Python."""
        own = python, looks.words(f), code, looks, self
        return symbols.builtin(self._ask, own)

    def call(self, owner: type) -> Any:
        """The ``__call__`` of a class."""
        flags = symbols.FASTCALL | symbols.KEYWORDS
        self._call = symbols.Method(b"__call__", self._at["call"], flags, _SIGNATURE)
        make = ctypes.pythonapi.PyDescr_NewMethod
        make.restype, make.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]
        return make(owner, ctypes.byref(self._call))

    def before(self, function: Any) -> None:
        """Be asked before a verb of Python's, where Python's functions have a place for that."""
        if sys.version_info >= (3, 12):
            put = ctypes.pythonapi.PyFunction_SetVectorcall
            put.restype, put.argtypes = None, [ctypes.py_object, ctypes.c_void_p]
            put(function, self._at["before"])

    def verb(self, name: str, general: Callable[..., Any]) -> Callable[..., Any]:
        """The entry of a verb in the table, which goes on with that of Python's."""
        method = symbols.Method(name.encode(), self._at["verb"], symbols.FASTCALL, None)
        return symbols.builtin(method, (general, name, method, self))


_SIGNATURE = b"__call__($self, /, *args, **kwargs)\n--\n\nWhat the function returns."
_OBJECTS = {
    "none_takes": NotImplemented, "stopped": Ellipsis, "builtin": type(len), "true": True,
    "false": False, "float": float, "array": np.ndarray, "raise_late": raise_late,
    "value": "value", "gradient": "gradient", "value_and_gradient": "value_and_gradient",
}  # fmt: skip
_TEXT = """
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyDict_GetItem(ptr, ptr)
declare i64 @PyDict_Size(ptr)
declare ptr @PyBytes_AsString(ptr)
declare ptr @PyCFunction_GetSelf(ptr)
declare ptr @PyTuple_New(i64)
declare ptr @zyg_plain(ptr, ptr, i64, ptr)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyMem_Malloc(i64)
declare void @PyMem_Free(ptr)
declare ptr @PyErr_NoMemory()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; What is in memory, or what a function says of an object and a key.
define internal ptr @look(ptr %at) {
  %function = load ptr, ptr %at
  %x = load ptr, ptr %at[1]
  %key = load i64, ptr %at[2]
  br icmp eq ptr %function, null, label %memory, label %call
memory:
  %word = load ptr, ptr %x+%key
  ret ptr %word
call:
  %said = call ptr %function(ptr %x, i64 %key)
  ret ptr %said
}

; What Python's ask gives.
define internal ptr @python(ptr %ask, ptr %f, ptr %args, i64 %n) noinline cold {
  %two = alloca [2 x ptr]
  %tuple = call ptr @PyTuple_New(i64 %n)
  br icmp eq ptr %tuple, null, label %out, label %head
head:
  %k = phi i64 [ 0, %0 ], [ %next, %fill ]
  br icmp eq i64 %k, %n, label %asked, label %fill
fill:
  %x = load ptr, ptr %args[%k]
  call void @Py_IncRef(ptr %x)
  %_ = call i32 @PyTuple_SetItem(ptr %tuple, i64 %k, ptr %x)
  %next = add i64 %k, 1
  br label %head
asked:
  store ptr %f, ptr %two
  store ptr %tuple, ptr %two[1]
  %y = call ptr @PyObject_Vectorcall(ptr %ask, ptr %two, i64 2, ptr null)
  call void @Py_DecRef(ptr %tuple)
  ret ptr %y
out:
  ret ptr null
}

; What an ask gives for a function and so many arguments: `self` is what it has.
define internal ptr @asked(ptr %self, ptr %f, ptr %args, i64 %n) {
start:
  %bytes = load ptr, ptr %self+ITEM_1
  %words = call ptr @PyBytes_AsString(ptr %bytes)
  %looks = getelementptr i64, ptr %words, i64 3
  %guards = load i64, ptr %words
  %operands = load i64, ptr %words[1]
  %own = load ptr, ptr %words[2]
  %code = load ptr, ptr %self+ITEM_2
  %of.this = icmp eq ptr %own, %f
  %few = icmp ult i64 %n, 256
  %well.given = and i1 %of.this, %few
  br i1 %well.given, label %head, label %other
head:
  %k = phi i64 [ 0, %start ], [ %k.next, %guard ]
  br icmp eq i64 %k, %guards, label %well, label %guard
guard:
  %at = getelementptr [4 x i64], ptr %looks, i64 %k
  %there = call ptr @look(ptr %at)
  %wanted = load ptr, ptr %at[3]
  %k.next = add i64 %k, 1
  br icmp eq ptr %there, %wanted, label %head, label %other
other:
  %python = load ptr, ptr %self+ITEM_0
  %found = call ptr @python(ptr %python, ptr %f, ptr %args, i64 %n)
  ret ptr %found
well:
  br icmp eq i64 %operands, 0, label %as.it.is, label %with.more
as.it.is:
  %y = tail call ptr @PyObject_Vectorcall(ptr %code, ptr %args, i64 %n, ptr null)
  ret ptr %y
with.more:
  %all = add i64 %n, %operands
  %row = alloca ptr, i64 %all
  %size = mul i64 %n, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %row, ptr %args, i64 %size, i1 false)
  %more = getelementptr ptr, ptr %row, i64 %n
  br label %take
take:
  %j = phi i64 [ 0, %with.more ], [ %j.next, %take ]
  %place = add i64 %guards, %j
  %operand.at = getelementptr [4 x i64], ptr %looks, i64 %place
  %operand = call ptr @look(ptr %operand.at)
  %gone = icmp eq ptr %operand, null
  %taken = select i1 %gone, ptr @zyg_none_takes, ptr %operand
  call void @Py_IncRef(ptr %taken)
  store ptr %taken, ptr %more[%j]
  %j.next = add i64 %j, 1
  br icmp eq i64 %j.next, %operands, label %run, label %take
run:
  %z = call ptr @PyObject_Vectorcall(ptr %code, ptr %row, i64 %all, ptr null)
  br label %give
give:
  %i = phi i64 [ 0, %run ], [ %i.next, %give ]
  %given = load ptr, ptr %more[%i]
  call void @Py_DecRef(ptr %given)
  %i.next = add i64 %i, 1
  br icmp eq i64 %i.next, %operands, label %end, label %give
end:
  ret ptr %z
}

; ask(f, args)
define ptr @ask(ptr %self, ptr %given, i64 %count) {
  %f = load ptr, ptr %given
  %args = load ptr, ptr %given[1]
  %n = load i64, ptr %args+SIZE
  %items = getelementptr i8, ptr %args, i64 ITEM_0
  %y = tail call ptr @asked(ptr %self, ptr %f, ptr %items, i64 %n)
  ret ptr %y
}

; What the asks of a compiled function for a verb give, else NotImplemented.
define internal ptr @known(ptr %compiled, ptr %verb, ptr %args, i64 %n) {
  %get = load ptr, ptr %compiled+ENTRIES
  %f = load ptr, ptr %compiled+WRAPPED
  %unmade = icmp eq ptr %get, null
  %bare = icmp eq ptr %f, null
  %empty = or i1 %unmade, %bare
  br i1 %empty, label %none, label %look
look:
  %entries = call ptr @PyCFunction_GetSelf(ptr %get)
  %asks = call ptr @PyDict_GetItem(ptr %entries, ptr %verb)
  br icmp eq ptr %asks, null, label %none, label %with
with:
  call void @Py_IncRef(ptr %asks)
  %count = load i64, ptr %asks+SIZE
  %items = getelementptr i8, ptr %asks, i64 ITEM_0
  br label %head
head:
  %k = phi i64 [ 0, %with ], [ %k.next, %next ]
  br icmp eq i64 %k, %count, label %end, label %one
one:
  %ask = load ptr, ptr %items[%k]
  %type = load ptr, ptr %ask+8
  br icmp eq ptr %type, @zyg_builtin, label %ours, label %pythons
ours:
  %self = call ptr @PyCFunction_GetSelf(ptr %ask)
  %x = call ptr @asked(ptr %self, ptr %f, ptr %args, i64 %n)
  br label %said
pythons:
  %z = call ptr @python(ptr %ask, ptr %f, ptr %args, i64 %n)
  br label %said
said:
  %y = phi ptr [ %x, %ours ], [ %z, %pythons ]
  %is.none = icmp eq ptr %y, @zyg_none_takes
  br i1 %is.none, label %next, label %may.stop
may.stop:
  br icmp eq ptr %y, @zyg_stopped, label %stopped, label %found
stopped:
  %fine = call ptr @PyObject_Vectorcall(ptr @zyg_raise_late, ptr null, i64 0, ptr null)
  br icmp eq ptr %fine, null, label %found, label %well
well:
  call void @Py_DecRef(ptr %fine)
  br label %next
next:
  call void @Py_DecRef(ptr %y)
  %k.next = add i64 %k, 1
  br label %head
found:
  %given = phi ptr [ %y, %may.stop ], [ null, %stopped ]
  call void @Py_DecRef(ptr %asks)
  ret ptr %given
end:
  call void @Py_DecRef(ptr %asks)
  br label %none
none:
  call void @Py_IncRef(ptr @zyg_none_takes)
  ret ptr @zyg_none_takes
}

; compiled(*args, **names): the value, else what Python's way gives.
define ptr @call(ptr %compiled, ptr %args, i64 %n, ptr %names) {
  br icmp eq ptr %names, null, label %ask, label %count
ask:
  %y = call ptr @known(ptr %compiled, ptr @zyg_value, ptr %args, i64 %n)
  br icmp eq ptr %y, @zyg_none_takes, label %nothing, label %found
found:
  ret ptr %y
nothing:
  call void @Py_DecRef(ptr %y)
  br label %general
count:
  %named = load i64, ptr %names+SIZE
  br label %general
general:
  %more = phi i64 [ 0, %nothing ], [ %named, %count ]
  %all = add i64 %n, %more
  %places = add i64 %all, 1
  %bytes = mul i64 %places, 8
  %row = call ptr @PyMem_Malloc(i64 %bytes)
  br icmp eq ptr %row, null, label %out, label %fill
out:
  %error = call ptr @PyErr_NoMemory()
  ret ptr null
fill:
  store ptr %compiled, ptr %row
  %behind = getelementptr ptr, ptr %row, i64 1
  %size = mul i64 %all, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %behind, ptr %args, i64 %size, i1 false)
  %given = add i64 %n, 1
  %z = call ptr @PyObject_Vectorcall(ptr @zyg_called, ptr %row, i64 %given, ptr %names)
  call void @PyMem_Free(ptr %row)
  ret ptr %z
}

; The gradients alone, or with the value.
define internal ptr @picked(ptr %verb, ptr %both) {
  br icmp eq ptr %verb, @zyg_gradient, label %pick, label %out
pick:
  %gradients = load ptr, ptr %both+ITEM_1
  call void @Py_IncRef(ptr %gradients)
  call void @Py_DecRef(ptr %both)
  ret ptr %gradients
out:
  ret ptr %both
}

; gradient(f, *args) and value_and_gradient, before Python's: for an f that is compiled.
define ptr @before(ptr %function, ptr %args, i64 %flagged, ptr %names) {
  %n = and i64 %flagged, 9223372036854775807
  %by.place = icmp eq ptr %names, null
  %some = icmp ne i64 %n, 0
  %may = and i1 %by.place, %some
  br i1 %may, label %look, label %general
look:
  %f = load ptr, ptr %args
  %type = load ptr, ptr %f+8
  br icmp eq ptr %type, @zyg_compiled, label %ask, label %general
ask:
  %is.gradient = icmp eq ptr %function, @zyg_gradient_of
  %verb = select i1 %is.gradient, ptr @zyg_gradient, ptr @zyg_value_and_gradient
  %rest = getelementptr ptr, ptr %args, i64 1
  %m = add i64 %n, -1
  %y = call ptr @known(ptr %f, ptr %verb, ptr %rest, i64 %m)
  br icmp eq ptr %y, null, label %out, label %made
made:
  br icmp eq ptr %y, @zyg_none_takes, label %nothing, label %pick
pick:
  %picked = call ptr @picked(ptr %verb, ptr %y)
  ret ptr %picked
nothing:
  call void @Py_DecRef(ptr %y)
  br label %general
general:
  %z = call ptr @zyg_plain(ptr %function, ptr %args, i64 %flagged, ptr %names)
  ret ptr %z
out:
  ret ptr null
}

; A verb's entry in the table: what machine code gives, if there are to be no zeros, or no gradient
; is None; else what Python's gives.
define ptr @verb(ptr %self, ptr %given, i64 %count) {
  %f = load ptr, ptr %given
  %args = load ptr, ptr %given[1]
  %names = load ptr, ptr %given[2]
  %zeros = load ptr, ptr %given[3]
  %verb = load ptr, ptr %self+ITEM_1
  %plain = icmp eq ptr %zeros, @zyg_false
  %filled = icmp eq ptr %zeros, @zyg_true
  %either = or i1 %plain, %filled
  %named = call i64 @PyDict_Size(ptr %names)
  %by.place = icmp eq i64 %named, 0
  %simple = and i1 %either, %by.place
  br i1 %simple, label %ask, label %general
ask:
  %n = load i64, ptr %args+SIZE
  %items = getelementptr i8, ptr %args, i64 ITEM_0
  %y = call ptr @known(ptr %f, ptr %verb, ptr %items, i64 %n)
  br icmp eq ptr %y, null, label %out, label %made
made:
  br icmp eq ptr %y, @zyg_none_takes, label %partly, label %with
with:
  %gradients = load ptr, ptr %y+ITEM_1
  %m = load i64, ptr %gradients+SIZE
  %all = select i1 %filled, i64 %m, i64 0
  br label %head
head:
  %k = phi i64 [ 0, %with ], [ %k.next, %one ]
  br icmp eq i64 %k, %all, label %pick, label %one
one:
  %places = getelementptr i8, ptr %gradients, i64 ITEM_0
  %g = load ptr, ptr %places[%k]
  %type = load ptr, ptr %g+8
  %is.float = icmp eq ptr %type, @zyg_float
  %is.array = icmp eq ptr %type, @zyg_array
  %has = or i1 %is.float, %is.array
  %k.next = add i64 %k, 1
  br i1 %has, label %head, label %partly
partly:
  call void @Py_DecRef(ptr %y)
  br label %general
pick:
  %picked = call ptr @picked(ptr %verb, ptr %y)
  ret ptr %picked
out:
  ret ptr null
general:
  %python = load ptr, ptr %self+ITEM_0
  %z = call ptr @PyObject_Vectorcall(ptr %python, ptr %given, i64 4, ptr null)
  ret ptr %z
}
"""
