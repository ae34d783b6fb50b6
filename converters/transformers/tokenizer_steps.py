"""Normalizers, pre-tokenizers, post-processors and decoders of tokenizer.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from edgekit.converters.file_formats.json_record import Record, checked
from edgekit.core.errors import EdgeKitError
from edgekit.core.text.decoding import Decoding
from edgekit.core.text.normalizers import Lowercase, Nfc, Normalizer, Prepend, Replace, Strip
from edgekit.core.text.pretokenizers import Digits, LeadingSpace, Metaspace, Pretokenizer, Words
from edgekit.core.text.wellformed import MAX_STEPS

BY_HAND = "make token ids with the package tokenizers: models take ids, too"

_GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
_ANY_CASE = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_POSSESSIVE = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)
_SCHEMES: Mapping[str, Literal["always", "first", "never"]]
_SCHEMES = {"always": "always", "first": "first", "never": "never"}
_MODERN = Words(any_case=True, any_prefix=True, spaced_digits=False, line_ends=True)
_THREE_DIGITS = Words(any_case=True, any_prefix=True, digits=3, spaced_digits=False, line_ends=True)
_ONE_DIGIT = Words(any_case=True, any_prefix=True, digits=1, spaced_digits=False, line_ends=True)
QWEN2 = _ANY_CASE + r"\p{N}" + _REST  # and 3
LLAMA3 = _ANY_CASE + r"\p{N}{1,3}" + _REST  # and SmolLM 3
# The regular expressions of pre-tokenizers that are read, each as what it does.
PATTERNS: Mapping[str, Words] = {
    _GPT2: Words(),
    _GPT2.replace("'(?:[sdmt]|ll|ve|re)", "'s|'t|'re|'ve|'m|'ll|'d"): Words(),
    QWEN2: _ONE_DIGIT,
    _ANY_CASE + r"\p{N}+" + _REST: _MODERN,
    LLAMA3: _THREE_DIGITS,
    _POSSESSIVE: _THREE_DIGITS,  # GPT-4
}


def normalizers(file: Record) -> tuple[Normalizer, ...]:
    return tuple(_normalizer(step) for step in _steps(file, "normalizer", "normalizers"))


def _normalizer(step: Record) -> Normalizer:
    match step.text("type"):
        case "NFC":
            return Nfc()
        case "Lowercase":
            return Lowercase()
        case "Prepend":
            return Prepend(_string(step, "prepend"))
        case "Strip":
            return Strip(step.flag("strip_left", False), step.flag("strip_right", False))
        case "Replace":
            return Replace(*_replacement(step))
    raise _unknown(step, "normalizers", "NFC, Lowercase, Prepend, Strip and Replace")


def pretokenizers(file: Record) -> tuple[bool, tuple[Pretokenizer, ...]]:
    """Is what they give bytes in GPT-2's alphabet? And the steps before that."""
    found: list[Pretokenizer] = []
    byte_level = False
    for step in _steps(file, "pre_tokenizer", "pretokenizers"):
        if byte_level:
            raise EdgeKitError("E0205", "nothing is read behind ByteLevel", step.where, BY_HAND)
        match step.text("type"):
            case "ByteLevel":
                byte_level = True
                found += [LeadingSpace()] if step.flag("add_prefix_space", True) else []
                found += [Words()] if step.flag("use_regex", True) else []
            case "Split":
                found.append(_split(step))
            case "Digits":
                found.append(Digits(step.flag("individual_digits", False)))
            case "Metaspace":
                found.append(_metaspace(step))
            case _:
                raise _unknown(step, "pre-tokenizers", "ByteLevel, Split, Digits and Metaspace")
    return byte_level, tuple(found)


def _split(step: Record) -> Words:
    """Known patterns match all of a text, so that splitting at matches and keeping matches are the same."""
    pattern = step.record("pattern")
    known = PATTERNS.get(pattern.text("Regex")) if "Regex" in pattern else None
    how = (step.text("behavior"), step.flag("invert", False))
    if known is None or how not in (("Isolated", False), ("Isolated", True), ("Removed", True)):
        message = "text is split by a pattern that is not known"
        hint = f"those of GPT-2, GPT-4, Llama 3 and Qwen 2 are; {BY_HAND}"
        raise EdgeKitError("E0203", message, step.where, hint)
    return known


def _metaspace(step: Record) -> Metaspace:
    replacement, scheme = _string(step, "replacement"), step.text("prepend_scheme", "always")
    if scheme not in _SCHEMES:
        raise EdgeKitError("E0203", f"prepend_scheme {scheme:.40} is not supported", step.where)
    if not step.flag("add_prefix_space", True) and scheme != "never":
        raise EdgeKitError("E0401", f"add_prefix_space contradicts prepend_scheme {scheme}", step.where)
    return Metaspace(replacement, _SCHEMES[scheme], step.flag("split", True))


def decoding(file: Record) -> Decoding:
    steps = list(_steps(file, "decoder", "decoders"))
    kinds = [step.text("type") for step in steps]
    if not steps:
        return Decoding(between=" ")
    if kinds == ["ByteLevel"]:
        return Decoding(byte_level=True)
    if kinds == ["Metaspace"]:
        one = _metaspace(steps[0])
        return Decoding(space=one.replacement, bare_start=one.prepend != "never")
    order = ["Replace", "ByteFallback", "Fuse", "Strip"]
    known = [kind for kind in order if kind in kinds]
    if kinds != known or ("Strip" in kinds and "Fuse" not in kinds):
        strange = next((step for step in steps if step.text("type") not in order), steps[-1])
        raise _unknown(strange, "decoders", "ByteLevel, Metaspace, or Replace, ByteFallback, Fuse, Strip")
    by_kind = dict(zip(kinds, steps, strict=True))
    return Decoding(
        byte_fallback="ByteFallback" in kinds,
        space=_decoded_space(by_kind["Replace"]) if "Replace" in kinds else "",
        strip=_stripped(by_kind["Strip"]) if "Strip" in kinds else 0,
    )


def _decoded_space(step: Record) -> str:
    old, new = _replacement(step)
    if len(old) != 1 or new != " ":
        raise EdgeKitError("E0203", "a decoder replaces one character by a space", step.where, BY_HAND)
    return old


def _stripped(step: Record) -> int:
    start, stop, content = step.integer("start"), step.integer("stop"), step.text("content")
    if content != " " or stop != 0 or start < 0:
        raise EdgeKitError("E0203", "a decoder strips spaces in front, and nothing else", step.where, BY_HAND)
    return start


def surroundings(file: Record) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens in front of a text, and behind it."""
    found: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    for step in _steps(file, "post_processor", "processors"):
        match step.text("type"):
            case "ByteLevel":  # concerns places in the text alone
                continue
            case "TemplateProcessing" if found == ((), ()):
                found = _template(step)
            case _:
                raise _unknown(step, "post-processors", "ByteLevel, and TemplateProcessing once")
    return found


def _template(step: Record) -> tuple[tuple[int, ...], tuple[int, ...]]:
    front: list[int] = []
    behind: list[int] = []
    texts = 0
    for item in step.records("single"):
        if "SpecialToken" in item:
            name = item.record("SpecialToken").text("id")
            ids = step.record("special_tokens").record(name).integers("ids")
            (behind if texts else front).extend(ids)
        else:
            item.record("Sequence")
            texts += 1
    if texts != 1:
        raise EdgeKitError("E0401", f"the template has {texts} texts", step.where)
    return tuple(front), tuple(behind)


def _steps(file: Record, key: str, nested: str) -> Iterator[Record]:
    """The steps of a kind: none, one, or a sequence, which may hold others."""
    queue = [file.record(key)] if key in file else []
    for _ in range(MAX_STEPS):
        if not queue:
            return
        step = queue.pop(0)
        if step.text("type") == "Sequence":
            queue = [*step.records(nested), *queue]
        else:
            yield step
    raise EdgeKitError("E0402", f"{key} has more than {MAX_STEPS} steps", file.where)


def _replacement(step: Record) -> tuple[str, str]:
    pattern = step.record("pattern")
    if "String" not in pattern or not pattern.text("String"):
        raise EdgeKitError("E0203", "only plain text can be replaced", step.where, BY_HAND)
    return _string(pattern, "String"), _string(step, "content")


def _string(step: Record, key: str) -> str:
    """A text, which may be empty."""
    return checked(step.fields.get(key), str, f"{key} of {step.where}")


def _unknown(step: Record, what: str, known: str) -> EdgeKitError:
    message = f"{what} of type {step.text('type'):.60} are not read"
    return EdgeKitError("E0205", message, step.where, f"{known} are; {BY_HAND}")
