"""An AAR for Android: the class for Java and Kotlin, its library for each ABI, and prefab for C and C++.

Layout: developer.android.com/studio/projects/android-library#aar-contents and google.github.io/prefab."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from edgekit.codegen.compilation import build, toolchain
from edgekit.codegen.packages import PackageRequest, _android_abi, _java
from edgekit.codegen.packages._android_abi import MIN_SDK, Abi
from edgekit.codegen.packages._ports import VERSION, public_headers
from edgekit.codegen.packages._sample import test_of
from edgekit.codegen.packages._zip import zipped
from edgekit.codegen.program import Program
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Target

_INSTEAD = "take --package android, whose sources Gradle compiles"
# Folders of the templates: files of the archive, and sources in Java; and the source of each library.
_ARCHIVE, _JAVA, _JNI = "aar/", "java/", "jni.c"


def check(target: Target) -> None:
    """EdgeKitError where there is none for this target, or no tools for it."""
    if target.gpu or not _android_abi.abis(target):
        hint = "--target host for every ABI, aarch64-android for arm64-v8a, x86-64 for x86_64"
        raise EdgeKitError("E0103", f"there is no package aar for target {target.name}", hint=hint)
    _java.find(_INSTEAD)
    toolchain.find(replace(target, compilers=(_android_abi.ZIG,)))


def programs_of(program: Program) -> dict[Abi, Program]:
    """The program for each ABI."""
    abis = _android_abi.abis(program.target)
    return {abi: _android_abi.program_for(program, abi) for abi in abis}


def values(programs: Mapping[Any, Program]) -> dict[str, Any]:
    """What templates know beside a model's ports."""
    rows = [
        {"name": abi.name, "arena_bytes": program.arena.size, "isa": ", ".join(program.target.isa)}
        for abi, program in programs.items()
    ]
    return {"abis": rows, "arena_bytes": max(row["arena_bytes"] for row in rows), "sizes": None}


def packed(
    request: PackageRequest, programs: Mapping[Any, Program], rendered: Mapping[str, bytes]
) -> dict[str, bytes]:
    """The archive and the files beside it, of rendered templates."""
    jdk = _java.find(_INSTEAD)
    sources = {path: data for path, data in rendered.items() if path.startswith(_JAVA)}
    inside = {
        path.removeprefix(_ARCHIVE): data for path, data in rendered.items() if path.startswith(_ARCHIVE)
    }
    inside["classes.jar"] = zipped(jdk.classes(sources))
    for abi, program in programs.items():
        request.progress(f"compiling for {abi.name}")
        inside |= dict(_library(request, abi, program, rendered[_JNI], jdk))
    manifest = "AndroidManifest.xml"
    ordered = {manifest: inside[manifest], **{path: inside[path] for path in sorted(inside)}}
    beside = {
        path: data
        for path, data in rendered.items()
        if path != _JNI and not path.startswith((_ARCHIVE, _JAVA))
    }
    return {**beside, f"{request.program.name}-{VERSION}.aar": zipped(ordered)}


def _library(
    request: PackageRequest, abi: Abi, program: Program, jni: bytes, jdk: _java.Jdk
) -> Iterator[tuple[str, bytes]]:
    """The files of an ABI. Headers have the size of its arena, and are its own therefore."""
    made = build.generate(program, request.optimize, "c", test_of(request))
    data = _android_abi.shared_library(request, program, made, jni, [jdk.include])
    module = f"prefab/modules/{program.name}_model/libs/android.{abi.name}"
    file = f"lib{program.name}_model.so"
    yield f"jni/{abi.name}/{file}", data
    yield f"{module}/{file}", data
    yield f"{module}/abi.json", _json({"abi": abi.name, "api": MIN_SDK, "ndk": MIN_SDK, "stl": "none"})
    header = f"{program.name}.h"
    for path in (header, *public_headers(made, header)):
        yield f"{module}/include/{path}", made[path]


def _json(values: Mapping[str, object]) -> bytes:
    return (json.dumps(values, indent=2) + "\n").encode()
