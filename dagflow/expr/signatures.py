"""What CEL's operators and functions take and give, as a table.

A line is a name and its overloads: parameters, then what it gives after `>`. A name that begins
with a dot is a method, its first parameter the receiver. `num` is any number, `x` any value.
Arithmetic on an integer beside a `double` is written in doubles by the check, CEL has none.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from dagflow.expr.functions import FUNCTIONS

_TABLE = """
_+_             int int > int; uint uint > uint; double double > double; string string > string; bytes bytes > bytes; list list > list; timestamp duration > timestamp; duration timestamp > timestamp; duration duration > duration
_-_             int int > int; uint uint > uint; double double > double; timestamp timestamp > duration; timestamp duration > timestamp; duration duration > duration
_*_             int int > int; uint uint > uint; double double > double
_/_             int int > int; uint uint > uint; double double > double
_%_             int int > int; uint uint > uint
-_              int > int; double > double
!_              bool > bool
_<_             num num > bool; string string > bool; bool bool > bool; bytes bytes > bool; timestamp timestamp > bool; duration duration > bool
size            string > int; bytes > int; list > int; map > int
.size           string > int; bytes > int; list > int; map > int
.contains       string string > bool
.startsWith     string string > bool
.endsWith       string string > bool
.matches        string string > bool
matches         string string > bool
int             int > int; uint > int; num > int; string > int; timestamp > int
uint            uint > uint; num > uint; string > uint
double          num > double; string > double
string          string > string; bool > string; num > string; bytes > string; timestamp > string; duration > string
bool            bool > bool; string > bool
bytes           bytes > bytes; string > bytes
type            x > type
dyn             x > dyn
timestamp       string > timestamp; timestamp > timestamp; int > timestamp
duration        string > duration; duration > duration
.getFullYear    timestamp > int; timestamp string > int
.getMonth       timestamp > int; timestamp string > int
.getDate        timestamp > int; timestamp string > int
.getDayOfMonth  timestamp > int; timestamp string > int
.getDayOfWeek   timestamp > int; timestamp string > int
.getDayOfYear   timestamp > int; timestamp string > int
.getHours       timestamp > int; timestamp string > int; duration > int
.getMinutes     timestamp > int; timestamp string > int; duration > int
.getSeconds     timestamp > int; timestamp string > int; duration > int
.getMilliseconds timestamp > int; timestamp string > int; duration > int
.charAt         string int > string
.indexOf        string string > int; string string int > int
.lastIndexOf    string string > int; string string int > int
.lowerAscii     string > string
.upperAscii     string > string
.replace        string string string > string; string string string int > string
.split          string string > list(string); string string int > list(string)
.substring      string int > string; string int int > string
.trim           string > string
.reverse        string > string
.join           list(string) > string; list(string) string > string
.format         string list > string
strings.quote   string > string
math.abs        int > int; uint > uint; double > double
math.ceil       double > double
math.floor      double > double
math.round      double > double
math.trunc      double > double
math.sign       int > int; uint > uint; double > double
math.sqrt       num > double
math.isNaN      double > bool
math.isInf      double > bool
math.isFinite   double > bool
math.bitAnd     int int > int; uint uint > uint
math.bitOr      int int > int; uint uint > uint
math.bitXor     int int > int; uint uint > uint
math.bitNot     int > int; uint > uint
math.bitShiftLeft  int int > int; uint int > uint
math.bitShiftRight int int > int; uint int > uint
base64.encode   bytes > string
base64.decode   string > bytes
"""  # noqa: E501  # a table reads by its rows

OPERATORS = {
    "_+_": "+", "_-_": "-", "_*_": "*", "_/_": "/", "_%_": "%", "-_": "-", "!_": "!", "_<_": "<",
    "_<=_": "<=", "_>_": ">", "_>=_": ">=", "_==_": "==", "_!=_": "!=", "_&&_": "&&", "_||_": "||",
    "@in": "in", "_?_:_": "? :", "_[_]": "[ ]", "_?._": ".?", "_[?_]": "[? ]",
    "math.@max": "math.greatest", "math.@min": "math.least",
}  # fmt: skip
ARITHMETIC = frozenset({"_+_", "_-_", "_*_", "_/_"})
COMPARISONS = ("_<_", "_<=_", "_>_", "_>=_")

SPECIAL_METHODS = ("hasValue", "value", "orValue", "or", "optMap", "optFlatMap")
MACROS = ("all", "exists", "exists_one", "map", "filter")
SPECIAL_FUNCTIONS = (
    *("optional.of", "optional.none", "optional.ofNonZeroValue"),
    *("has", "math.greatest", "math.least"),
    *(added.name for added in FUNCTIONS),
)
TYPE_NAMES = frozenset(
    {"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"}
)


class Overload(NamedTuple):
    """One way to call a function: the kinds of its parameters, and what it gives."""

    params: tuple[str, ...]
    gives: str


@cache
def signatures() -> dict[str, tuple[Overload, ...]]:
    """Return the overloads of every function; methods are under `.name`."""
    found: dict[str, tuple[Overload, ...]] = {}
    for line in _TABLE.strip().splitlines():
        name, _, overloads = line.partition(" ")
        found[name] = tuple(_overload(text) for text in overloads.split(";"))
    return found | dict.fromkeys(COMPARISONS, found["_<_"])


def _overload(text: str) -> Overload:
    params, _, gives = text.partition(">")
    return Overload(tuple(params.split()), gives.strip())


def callable_names() -> list[str]:
    """Return every name that can stand before a parenthesis, for suggestions."""
    named = [name.lstrip(".") for name in signatures() if not name.startswith(("_", "-", "!"))]
    return [*named, *SPECIAL_METHODS, *SPECIAL_FUNCTIONS, *MACROS]
