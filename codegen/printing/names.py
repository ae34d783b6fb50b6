"""Identifiers that C, C++ and build systems accept everywhere, made from the names of a model.

Names of a model never begin with ek_ and never end with an underscore: those of EdgeKit do (ADR 0157).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files

from edgekit.core import escape

# Keywords of C and C++, words that compilers and headers define as macros, and the names of generated code.
_KEYWORDS = """
alignas alignof and and_eq asm atomic auto bitand bitor bool break case catch char class co_await
co_return co_yield compl complex concept const const_cast consteval constexpr constinit continue decltype
default delete do double dynamic_cast else enum errno explicit export extern false far float for friend
goto i386 if inline int linux long main math_errhandling mutable namespace near new noexcept noreturn not
not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
return short signed sizeof static static_assert static_cast stderr stdin stdout struct switch template
this thread_local throw true try typedef typeid typename typeof typeof_unqual union unix unsigned using
virtual void volatile while xor xor_eq
"""
RESERVED = frozenset({*_KEYWORDS.split(), "arena", "ram"})
# A library's header must not be found in the place of one of these: C, C++, POSIX and JNI include them.
_SYSTEM = """
alloca assert auto_ptr binders complex corecrt crtdefs ctype endian errno features fenv float inttypes
iso646 jni jni_md libintl limits locale malloc math memory nl_types pthread runetype sched semaphore
setjmp signal stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn
string strings syscall syslimits tgmath threads time uchar unistd vadefs wchar wctype xlocale
"""
# Devices of Windows, which has no files with these names.
_DEVICES = ("aux", "con", "nul", "prn", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10)))
HEADERS = frozenset({*_SYSTEM.split(), *_DEVICES})
# What build systems keep to themselves, and libraries that every program is linked with.
_LINKED = "c dl gcc m rt util"
_TARGETS = {
    "cmake": f"all clean edit_cache help install package preinstall rebuild_cache test {_LINKED}",
    "meson": f"all benchmark clean coverage dist help install reconfigure scanbuild test uninstall {_LINKED}",
    # Components of ESP-IDF 4 and 5, which one of a project replaces; esp_ and what follows is theirs, too.
    "esp-idf": """
        app_trace app_update asio bootloader bootloader_support bt cmock coap console cxx driver efuse
        espcoredump esptool_py expat fatfs freemodbus freertos hal heap http_parser idf_test ieee802154 jsmn
        json linux log lwip mbedtls mdns mqtt newlib nghttp nvs_flash nvs_sec_provider openthread
        partition_table perfmon protocomm pthread riscv rt sdmmc soc spi_flash spiffs tcp_transport
        tcpip_adapter tinyusb touch_element ulp unity usb vfs wear_levelling wifi_provisioning
        wpa_supplicant xtensa
    """,
}
LONGEST = 63  # characters that C99 promises to tell apart
_LONGEST = 48
_LONGEST_END = 16  # of that, behind what is left out in the middle


class Names(set[str]):
    """Identifiers that are taken, and which numbers behind them are known to be."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__(names)
        self.numbers: dict[tuple[str, str], int] = {}


def apart(name: str, taken: Collection[str]) -> str:
    """A name of the model, with an underscore behind it where `taken` has this name already."""
    return f"{name}_" if name in taken else name


def build_target(name: str, system: str = "cmake") -> str:
    """What a build system calls the library of this name."""
    return apart(name, _TARGETS[system].split())


def namespace(name: str) -> str:
    """The namespace of C++ for a model: C's functions and variables are outside of all namespaces."""
    return apart(name, global_names())


@cache
def global_names() -> frozenset[str]:
    """What headers of C and C++ declare outside of namespaces: scripts/global_names.py."""
    return frozenset((files("edgekit.codegen.printing") / "global_names.txt").read_text("utf-8").split())


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
