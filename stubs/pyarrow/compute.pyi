# The kernels of pyarrow.compute that this project may use. The class of a result follows from the class of the
# arguments (array, chunked array, scalar); the element type is known only while a query runs.
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Protocol, TypeVar, overload

import numpy as np
from pyarrow import Array, ChunkedArray, DataType, RecordBatch, Scalar, StructScalar, Table

_D = TypeVar("_D", bound=Array | ChunkedArray | Scalar)
_V = TypeVar("_V", bound=Array | ChunkedArray)
_T = TypeVar("_T", bound=Array | ChunkedArray | RecordBatch | Table)
_Values = Array | ChunkedArray
_Plain = bool | int | float | str | bytes | Decimal | datetime | date | time | timedelta | np.generic[Any] | None
_Constant = Scalar | _Plain

class _Elementwise(Protocol):
    def __call__(self, values: _D, /) -> _D: ...

class _Pairwise(Protocol):
    @overload
    def __call__(self, x: ChunkedArray, y: ChunkedArray | Array | _Constant, /) -> ChunkedArray: ...
    @overload
    def __call__(self, x: Array | _Constant, y: ChunkedArray, /) -> ChunkedArray: ...
    @overload
    def __call__(self, x: Array, y: Array | _Constant, /) -> Array: ...
    @overload
    def __call__(self, x: _Constant, y: Array, /) -> Array: ...
    @overload
    def __call__(self, x: _Constant, y: _Constant, /) -> Scalar: ...
    @overload
    def __call__(self, x: Array | _Constant, y: Array | _Constant, /) -> Array | Scalar: ...

class Expression:
    def is_valid(self) -> Expression: ...
    def __le__(self, other: Any, /) -> Expression: ...

class FunctionOptions: ...

class CastOptions(FunctionOptions):
    def __init__(
        self,
        target_type: DataType | None = None,
        *,
        allow_int_overflow: bool | None = None,
        allow_time_truncate: bool | None = None,
        allow_time_overflow: bool | None = None,
        allow_decimal_truncate: bool | None = None,
        allow_float_truncate: bool | None = None,
        allow_invalid_utf8: bool | None = None,
    ) -> None: ...

class Function:
    def call(self, args: Sequence[Any], options: FunctionOptions | None = None) -> Any: ...

# --- by name

def call_function(name: str, args: Sequence[Any], options: FunctionOptions | None = None) -> Any: ...
def get_function(name: str) -> Function: ...
def list_functions() -> list[str]: ...
def field(*name_or_index: str | int) -> Expression: ...

# --- casts, choices, nulls

@overload
def cast(
    arr: _D,
    target_type: DataType | str | None = None,
    safe: bool | None = None,
    options: CastOptions | None = None,
) -> _D: ...
@overload
def cast(
    arr: _Plain,
    target_type: DataType | str | None = None,
    safe: bool | None = None,
    options: CastOptions | None = None,
) -> Scalar: ...
def fill_null(values: _D, fill_value: Any) -> _D: ...
@overload
def if_else(cond: ChunkedArray, left: Any, right: Any, /) -> ChunkedArray: ...
@overload
def if_else(cond: Array, left: Array | _Constant, right: Array | _Constant, /) -> Array: ...
@overload
def if_else(cond: Scalar | bool | None, left: Array, right: Array | _Constant, /) -> Array: ...
@overload
def if_else(cond: Scalar | bool | None, left: _Constant, right: Array, /) -> Array: ...
@overload
def if_else(cond: Scalar | bool | None, left: _Constant, right: _Constant, /) -> Scalar: ...
def case_when(cond: _D, /, *cases: Any) -> _D: ...
def choose(indices: _D, /, *values: Any) -> _D: ...
def coalesce(*values: Array | _Constant) -> Array: ...
def max_element_wise(*args: Array | _Constant, skip_nulls: bool = True) -> Array: ...
def min_element_wise(*args: Array | _Constant, skip_nulls: bool = True) -> Array: ...
def binary_join_element_wise(
    *strings: Array | _Constant, null_handling: str = "emit_null", null_replacement: str = ""
) -> Array: ...
def make_struct(*args: Array | _Constant, field_names: Sequence[str] = ()) -> Array: ...

# --- selection, order, sets

def take(data: _T, indices: Any, *, boundscheck: bool = True) -> _T: ...
def array_take(array: _V, indices: Any, /, *, boundscheck: bool = True) -> _V: ...
def filter(input: _T, selection_filter: Any, /, null_selection_behavior: str = "drop") -> _T: ...
def array_filter(array: _V, selection_filter: Any, /, null_selection_behavior: str = "drop") -> _V: ...
def drop_null(input: _T, /) -> _T: ...
def index(data: _Values, value: Any, start: int | None = None, end: int | None = None) -> Scalar: ...
def indices_nonzero(values: _Values, /) -> Array: ...
def replace_with_mask(values: _V, mask: Any, replacements: Any, /) -> _V: ...
def sort_indices(
    input: Array | ChunkedArray | RecordBatch | Table,
    /,
    sort_keys: Sequence[tuple[str, str]] | str = (),
    *,
    null_placement: str | None = None,
) -> Array: ...
def array_sort_indices(array: _Values, /, order: str = "ascending", *, null_placement: str = "at_end") -> Array: ...
def rank(input: _Values, /, sort_keys: str = "ascending", *, tiebreaker: str = "first") -> Array: ...
def search_sorted(values: _Values, needles: Any, /, side: str = "left") -> Any: ...
def unique(array: _Values, /) -> Array: ...
def value_counts(array: _Values, /) -> Array: ...
def dictionary_encode(array: _V, /, null_encoding: str = "mask") -> _V: ...
def dictionary_decode(dictionary_array: _V, /) -> _V: ...
def list_flatten(lists: _V, /, recursive: bool = False) -> _V: ...
def list_parent_indices(lists: _V, /) -> _V: ...
def quantile(
    array: _Values,
    /,
    q: float | Sequence[float] = 0.5,
    *,
    interpolation: str = "linear",
    skip_nulls: bool = True,
    min_count: int = 0,
) -> Array: ...
def mode(array: _Values, /, n: int = 1, *, skip_nulls: bool = True, min_count: int = 0) -> Array: ...
def cumulative_sum(values: _V, /, start: Any = None, *, skip_nulls: bool = False) -> _V: ...
def cumulative_max(values: _V, /, start: Any = None, *, skip_nulls: bool = False) -> _V: ...
def cumulative_min(values: _V, /, start: Any = None, *, skip_nulls: bool = False) -> _V: ...

# --- one value in, one value out

abs: _Elementwise
abs_checked: _Elementwise
acos: _Elementwise
acos_checked: _Elementwise
acosh: _Elementwise
acosh_checked: _Elementwise
ascii_capitalize: _Elementwise
ascii_is_alnum: _Elementwise
ascii_is_alpha: _Elementwise
ascii_is_decimal: _Elementwise
ascii_is_lower: _Elementwise
ascii_is_printable: _Elementwise
ascii_is_space: _Elementwise
ascii_is_title: _Elementwise
ascii_is_upper: _Elementwise
ascii_lower: _Elementwise
ascii_ltrim_whitespace: _Elementwise
ascii_reverse: _Elementwise
ascii_rtrim_whitespace: _Elementwise
ascii_swapcase: _Elementwise
ascii_title: _Elementwise
ascii_trim_whitespace: _Elementwise
ascii_upper: _Elementwise
asin: _Elementwise
asin_checked: _Elementwise
asinh: _Elementwise
atan: _Elementwise
atanh: _Elementwise
atanh_checked: _Elementwise
binary_length: _Elementwise
binary_reverse: _Elementwise
bit_wise_not: _Elementwise
ceil: _Elementwise
cos: _Elementwise
cos_checked: _Elementwise
cosh: _Elementwise
day: _Elementwise
day_of_year: _Elementwise
exp: _Elementwise
expm1: _Elementwise
floor: _Elementwise
hour: _Elementwise
invert: _Elementwise
is_dst: _Elementwise
is_finite: _Elementwise
is_inf: _Elementwise
is_leap_year: _Elementwise
is_nan: _Elementwise
is_valid: _Elementwise
iso_calendar: _Elementwise
iso_week: _Elementwise
iso_year: _Elementwise
list_value_length: _Elementwise
ln: _Elementwise
ln_checked: _Elementwise
local_timestamp: _Elementwise
log10: _Elementwise
log10_checked: _Elementwise
log1p: _Elementwise
log1p_checked: _Elementwise
log2: _Elementwise
log2_checked: _Elementwise
microsecond: _Elementwise
millisecond: _Elementwise
minute: _Elementwise
month: _Elementwise
nanosecond: _Elementwise
negate: _Elementwise
negate_checked: _Elementwise
quarter: _Elementwise
second: _Elementwise
sign: _Elementwise
sin: _Elementwise
sin_checked: _Elementwise
sinh: _Elementwise
sqrt: _Elementwise
sqrt_checked: _Elementwise
string_is_ascii: _Elementwise
subsecond: _Elementwise
tan: _Elementwise
tan_checked: _Elementwise
tanh: _Elementwise
true_unless_null: _Elementwise
trunc: _Elementwise
us_week: _Elementwise
us_year: _Elementwise
utf8_capitalize: _Elementwise
utf8_is_alnum: _Elementwise
utf8_is_alpha: _Elementwise
utf8_is_decimal: _Elementwise
utf8_is_digit: _Elementwise
utf8_is_lower: _Elementwise
utf8_is_numeric: _Elementwise
utf8_is_printable: _Elementwise
utf8_is_space: _Elementwise
utf8_is_title: _Elementwise
utf8_is_upper: _Elementwise
utf8_length: _Elementwise
utf8_lower: _Elementwise
utf8_ltrim_whitespace: _Elementwise
utf8_reverse: _Elementwise
utf8_rtrim_whitespace: _Elementwise
utf8_swapcase: _Elementwise
utf8_title: _Elementwise
utf8_trim_whitespace: _Elementwise
utf8_upper: _Elementwise
year: _Elementwise
year_month_day: _Elementwise

def ascii_center(strings: _D, /, width: int, padding: str = " ", lean_left_on_odd_padding: bool = True) -> _D: ...
def ascii_lpad(strings: _D, /, width: int, padding: str = " ", lean_left_on_odd_padding: bool = True) -> _D: ...
def ascii_ltrim(strings: _D, /, characters: str) -> _D: ...
def ascii_rpad(strings: _D, /, width: int, padding: str = " ", lean_left_on_odd_padding: bool = True) -> _D: ...
def ascii_rtrim(strings: _D, /, characters: str) -> _D: ...
def ascii_trim(strings: _D, /, characters: str) -> _D: ...
def assume_timezone(
    timestamps: _D, /, timezone: str, *, ambiguous: str = "raise", nonexistent: str = "raise"
) -> _D: ...
def binary_replace_slice(strings: _D, /, start: int, stop: int | None, replacement: bytes | str) -> _D: ...
def binary_slice(strings: _D, /, start: int, stop: int | None = None, step: int = 1) -> _D: ...
def ceil_temporal(
    timestamps: _D,
    /,
    multiple: int = 1,
    unit: str = "day",
    *,
    week_starts_monday: bool = True,
    ceil_is_strictly_greater: bool = False,
    calendar_based_origin: bool = False,
) -> _D: ...
def count_substring(strings: _D, /, pattern: str, *, ignore_case: bool = False) -> _D: ...
def count_substring_regex(strings: _D, /, pattern: str, *, ignore_case: bool = False) -> _D: ...
def day_of_week(values: _D, /, *, count_from_zero: bool = True, week_start: int = 1) -> _D: ...
def ends_with(strings: _D, /, pattern: str, *, ignore_case: bool = False) -> _D: ...
def extract_regex(strings: _D, /, pattern: str) -> _D: ...
def extract_regex_span(strings: _D, /, pattern: str) -> _D: ...
def find_substring(strings: _D, /, pattern: str, *, ignore_case: bool = False) -> _D: ...
def find_substring_regex(strings: _D, /, pattern: str, *, ignore_case: bool = False) -> _D: ...
def floor_temporal(
    timestamps: _D,
    /,
    multiple: int = 1,
    unit: str = "day",
    *,
    week_starts_monday: bool = True,
    ceil_is_strictly_greater: bool = False,
    calendar_based_origin: bool = False,
) -> _D: ...
def index_in(values: _D, /, value_set: Array | ChunkedArray, *, skip_nulls: bool = False) -> _D: ...
def is_in(values: _D, /, value_set: Array | ChunkedArray, *, skip_nulls: bool = False) -> _D: ...
def is_null(values: _D, /, *, nan_is_null: bool = False) -> _D: ...
def map_lookup(container: _D, /, query_key: Any, occurrence: str) -> _D: ...
def match_like(strings: _D, /, pattern: str, *, ignore_case: bool = False) -> _D: ...
def match_substring(strings: _D, /, pattern: str, *, ignore_case: bool = False) -> _D: ...
def match_substring_regex(strings: _D, /, pattern: str, *, ignore_case: bool = False) -> _D: ...
def replace_substring(strings: _D, /, pattern: str, replacement: str, *, max_replacements: int | None = None) -> _D: ...
def replace_substring_regex(
    strings: _D, /, pattern: str, replacement: str, *, max_replacements: int | None = None
) -> _D: ...
def round(x: _D, /, ndigits: int = 0, round_mode: str = "half_to_even") -> _D: ...
def round_temporal(
    timestamps: _D,
    /,
    multiple: int = 1,
    unit: str = "day",
    *,
    week_starts_monday: bool = True,
    ceil_is_strictly_greater: bool = False,
    calendar_based_origin: bool = False,
) -> _D: ...
def round_to_multiple(x: _D, /, multiple: float = 1.0, round_mode: str = "half_to_even") -> _D: ...
def split_pattern(strings: _D, /, pattern: str, *, max_splits: int | None = None, reverse: bool = False) -> _D: ...
def split_pattern_regex(
    strings: _D, /, pattern: str, *, max_splits: int | None = None, reverse: bool = False
) -> _D: ...
def starts_with(strings: _D, /, pattern: str, *, ignore_case: bool = False) -> _D: ...
def strftime(timestamps: _D, /, format: str = "%Y-%m-%dT%H:%M:%S", locale: str = "C") -> _D: ...
def strptime(strings: _D, /, format: str, unit: str, error_is_null: bool = False) -> _D: ...
def struct_field(values: _D, /, indices: Any) -> _D: ...
def utf8_center(strings: _D, /, width: int, padding: str = " ", lean_left_on_odd_padding: bool = True) -> _D: ...
def utf8_lpad(strings: _D, /, width: int, padding: str = " ", lean_left_on_odd_padding: bool = True) -> _D: ...
def utf8_ltrim(strings: _D, /, characters: str) -> _D: ...
def utf8_normalize(strings: _D, /, form: str) -> _D: ...
def utf8_replace_slice(strings: _D, /, start: int, stop: int | None, replacement: str) -> _D: ...
def utf8_rpad(strings: _D, /, width: int, padding: str = " ", lean_left_on_odd_padding: bool = True) -> _D: ...
def utf8_rtrim(strings: _D, /, characters: str) -> _D: ...
def utf8_slice_codeunits(strings: _D, /, start: int, stop: int | None = None, step: int = 1) -> _D: ...
def utf8_split_whitespace(strings: _D, /, *, max_splits: int | None = None, reverse: bool = False) -> _D: ...
def utf8_trim(strings: _D, /, characters: str) -> _D: ...
def utf8_zfill(strings: _D, /, width: int, padding: str = "0") -> _D: ...
def week(
    values: _D,
    /,
    *,
    week_starts_monday: bool = True,
    count_from_zero: bool = False,
    first_week_is_fully_in_year: bool = False,
) -> _D: ...

add: _Pairwise
add_checked: _Pairwise
and_: _Pairwise
and_kleene: _Pairwise
and_not: _Pairwise
and_not_kleene: _Pairwise
atan2: _Pairwise
binary_join: _Pairwise
binary_repeat: _Pairwise
bit_wise_and: _Pairwise
bit_wise_or: _Pairwise
bit_wise_xor: _Pairwise
day_time_interval_between: _Pairwise
days_between: _Pairwise
divide: _Pairwise
divide_checked: _Pairwise
equal: _Pairwise
greater: _Pairwise
greater_equal: _Pairwise
hours_between: _Pairwise
hypot: _Pairwise
less: _Pairwise
less_equal: _Pairwise
list_element: _Pairwise
logb: _Pairwise
logb_checked: _Pairwise
microseconds_between: _Pairwise
milliseconds_between: _Pairwise
minutes_between: _Pairwise
modulo: _Pairwise
modulo_checked: _Pairwise
month_day_nano_interval_between: _Pairwise
month_interval_between: _Pairwise
multiply: _Pairwise
multiply_checked: _Pairwise
nanoseconds_between: _Pairwise
not_equal: _Pairwise
or_: _Pairwise
or_kleene: _Pairwise
power: _Pairwise
power_checked: _Pairwise
quarters_between: _Pairwise
remainder: _Pairwise
remainder_checked: _Pairwise
seconds_between: _Pairwise
shift_left: _Pairwise
shift_left_checked: _Pairwise
shift_right: _Pairwise
shift_right_checked: _Pairwise
subtract: _Pairwise
subtract_checked: _Pairwise
xor: _Pairwise
years_between: _Pairwise

def all(array: _Values, /, *, skip_nulls: bool = True, min_count: int = 1) -> Scalar: ...
def any(array: _Values, /, *, skip_nulls: bool = True, min_count: int = 1) -> Scalar: ...
def approximate_median(array: _Values, /, *, skip_nulls: bool = True, min_count: int = 1) -> Scalar: ...
def count(array: _Values, /, mode: str = "only_valid") -> Scalar: ...
def count_distinct(array: _Values, /, mode: str = "only_valid") -> Scalar: ...
def first(array: _Values, /, *, skip_nulls: bool = True, min_count: int = 1) -> Scalar: ...
def first_last(array: _Values, /, *, skip_nulls: bool = True, min_count: int = 1) -> StructScalar: ...
def kurtosis(array: _Values, /, *, skip_nulls: bool = True, biased: bool = True, min_count: int = 0) -> Scalar: ...
def last(array: _Values, /, *, skip_nulls: bool = True, min_count: int = 1) -> Scalar: ...
def max(array: _Values, /, *, skip_nulls: bool = True, min_count: int = 1) -> Scalar: ...
def mean(array: _Values, /, *, skip_nulls: bool = True, min_count: int = 1) -> Scalar: ...
def min(array: _Values, /, *, skip_nulls: bool = True, min_count: int = 1) -> Scalar: ...
def min_max(array: _Values, /, *, skip_nulls: bool = True, min_count: int = 1) -> StructScalar: ...
def product(array: _Values, /, *, skip_nulls: bool = True, min_count: int = 1) -> Scalar: ...
def skew(array: _Values, /, *, skip_nulls: bool = True, biased: bool = True, min_count: int = 0) -> Scalar: ...
def stddev(array: _Values, /, *, ddof: int = 0, skip_nulls: bool = True, min_count: int = 0) -> Scalar: ...
def sum(array: _Values, /, *, skip_nulls: bool = True, min_count: int = 1) -> Scalar: ...
def tdigest(
    array: _Values,
    /,
    q: float | Sequence[float] = 0.5,
    *,
    delta: int = 100,
    buffer_size: int = 500,
    skip_nulls: bool = True,
    min_count: int = 0,
) -> Array: ...
def variance(array: _Values, /, *, ddof: int = 0, skip_nulls: bool = True, min_count: int = 0) -> Scalar: ...
