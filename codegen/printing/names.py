"""Identifiers that C and C++ accept everywhere, made from the names of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from edgekit.core import escape

# Keywords of C and C++, words that common compilers add or define as macros, and the names of generated code.
_KEYWORDS = """
alignas alignof and and_eq asm atomic auto bitand bitor bool break case catch char class co_await co_return
co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
double dynamic_cast else enum explicit export extern false far float for friend goto i386 if inline int
linux long main mutable namespace near new noexcept not not_eq nullptr operator or or_eq private protected
public register reinterpret_cast requires restrict return short signed sizeof static static_assert
static_cast struct switch template this thread_local throw true try typedef typeid typename typeof
typeof_unqual union unix unsigned using virtual void volatile while xor xor_eq
"""
RESERVED = frozenset({*_KEYWORDS.split(), "arena", "ram"})
# A library's header must not be found in the place of one of these.
_SYSTEM = """
assert complex ctype errno fenv float inttypes iso646 limits locale malloc math memory setjmp signal
stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string strings
tgmath threads time uchar unistd wchar wctype
"""
HEADERS = frozenset(_SYSTEM.split())
LONGEST = 63  # characters that C99 promises to tell apart
_LONGEST = 48
_LONGEST_END = 16  # of that, behind what is left out in the middle


class Names(set[str]):
    """Identifiers that are taken, and which numbers behind them are known to be."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__(names)
        self.numbers: dict[tuple[str, str], int] = {}


def identifier(
    text: str,
    taken: set[str],
    fallback: str = "t",
    forms: Sequence[str] = ("{}",),
    longest: int = _LONGEST,
) -> str:
    """An identifier near `text`, none of whose forms (`digits_{}`) is in `taken`; they are added there."""
    name = escape.c_identifier(text) or fallback
    if name[0].isdigit() or name == "ek" or name.startswith("ek_"):
        name = f"{fallback}_{name}"
    name = name[:longest]
    # Names are only ever added: what was taken stays taken.
    numbers = taken.numbers if isinstance(taken, Names) else {}
    key = (name, "".join(forms))
    i = numbers.get(key, 1)
    unique = name if i == 1 else f"{name}_{i}"
    while (
        unique in RESERVED or unique.endswith("_t") or not taken.isdisjoint(f.format(unique) for f in forms)
    ):
        i += 1
        unique = f"{name}_{i}"
    numbers[key] = i
    taken.update(form.format(unique) for form in forms)
    return unique


def readable(text: str) -> str:
    """A name without what makes it long: of the layers that TFLite merged and lists, the first; and of very
    long ones the beginning and the end, in whole words: the end tells the bias of a layer from its scale."""
    text, mark, made = text.partition("#")  # what was made of the tensor
    first, _, others = text.partition(";")
    if others:
        own = others.rpartition(";")[2].rpartition("_")[2]
        text = f"{first}_{own}" if own.isalpha() and own.islower() else first
    words = [word for word in escape.c_identifier(f"{text}{mark}{made}").split("_") if word]
    if len("_".join(words)) <= _LONGEST:
        return "_".join(words)
    end = [words.pop()]
    while words and len("_".join([words[-1], *end])) <= _LONGEST_END:
        end.insert(0, words.pop())
    start = "_".join(words)[: _LONGEST - len("_".join(end)) - 1]
    return "_".join([start.rpartition("_")[0] or start, *end])
