"""Numbers of any width, read by the address of their array.

A stored row is numbered in one to eight bytes, and so are its keys. Handed over as arrays, each combination of widths
would be compiled for itself, a second each. By address one compiled loop reads them all. It must hold every place
against the length of the array, and the caller must keep the array until the loop is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

Read = Callable[[int, int], int]


def _make_reader(bits: int, *, signed: bool) -> Read:
    """Make what reads numbers of one width."""

    def read(_context: Any, _address: Any, _place: Any) -> tuple[Any, Any]:
        def generate(_: Any, builder: Any, __: Any, given: Any) -> Any:
            address, place = given
            start = builder.inttoptr(address, ir.IntType(bits).as_pointer())
            number = builder.load(builder.gep(start, [place]))
            widen = builder.sext if signed else builder.zext
            return number if bits == 64 else widen(number, ir.IntType(64))

        return types.int64(types.int64, types.int64), generate

    made: Read = intrinsic(read)
    return made


def _make_prefetch() -> Callable[[int, int], None]:
    """Make what asks memory for a place that will be read soon: a loop that waits for each goes at half the pace."""

    def prefetch(_context: Any, _address: Any, _offset: Any) -> tuple[Any, Any]:
        def generate(context: Any, builder: Any, __: Any, given: Any) -> Any:
            pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            place = builder.inttoptr(builder.add(*given), pointer)
            kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
            ask = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
            # To be read, kept in all caches, and data.
            builder.call(ask, [place, number(0), number(3), number(1)])
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    made: Callable[[int, int], None] = intrinsic(prefetch)
    return made


prefetch = _make_prefetch()
_unsigned8, _unsigned16, _unsigned32 = (_make_reader(bits, signed=False) for bits in (8, 16, 32))
_signed8, _signed16, _signed32, read_whole = (_make_reader(bits, signed=True) for bits in (8, 16, 32, 64))
read_byte = _unsigned8


@njit(inline="always")
def read_unsigned(address: int, size: int, place: int) -> int:
    """Read a number that is never below 0, of so many bytes."""
    if size == 2:
        return _unsigned16(address, place)
    if size == 4:
        return _unsigned32(address, place)
    if size == 8:
        return read_whole(address, place)
    return _unsigned8(address, place)


@njit(inline="always")
def read_signed(address: int, size: int, place: int) -> int:
    """Read a number of so many bytes."""
    if size == 8:
        return read_whole(address, place)
    if size == 4:
        return _signed32(address, place)
    if size == 2:
        return _signed16(address, place)
    return _signed8(address, place)
