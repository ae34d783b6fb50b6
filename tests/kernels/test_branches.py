"""Conditions and jumps that benchmarks/reliability/kernel_coverage.py counts, and what it records."""

import subprocess
from pathlib import Path

import pytest
from support.tools import ROOT, require

from benchmarks.reliability.c_branches import RECORDER, conditions, instrument, jumps
from benchmarks.reliability.kernel_coverage import described, reasons

# C, and its conditions in the order in which they stand.
CONDITIONS = {
    "if (a) b();": ["a"],
    "if (a && !(b || c < d)) e(f ? 1 : 2);": ["a", "b", "c < d", "f"],
    "for (int i = 0; i < n; i++) x[i] = y[i] > 0 ? y[i] : 0;": ["i < n", "y[i] > 0"],
    "for (;;) while (1) do b(); while (--n > 0 && *p);": ["--n > 0", "*p"],
    "const int u = v < lo ? lo : v > hi ? hi : v, w = !p && q;": ["v < lo", "v > hi", "!p", "q"],
    "return x[i < n ? i : 0] & -(a == b);": ["i < n"],
    "if (n < (k ? 3 : 4)) f();": ["n < (k ? 3 : 4)", "k"],
    "/* a ? b : c */ #if D && E\n x = '?' + \"a && b\"[0]; // if (c)\n#endif\n": [],
    "#define MOST(a, b) \\\n    ((a) > (b) ? (a) : (b))\n": ["(a) > (b)"],
    "EK_IF_R(if (r) y += *r;) else if (s) {} switch (t) { case 1: u = 0; }": ["r", "s"],
}
ASSEMBLY = r"""
__asm("1:\n" "cmp r0, r1\n" "bne 1b\n" FOUR "cbz r2, 2f\nble.w 1b\nbl f\nbic r0, r1\nb 2f\n"
      "3: letp lr, 3b\n" "wlstp.8 lr, %[n], 4f\n" "b.eq 5f\n" "blt 6f\n");
"""
PROGRAM = """\
#include <stdio.h>
int f(int x, int y)
{
    int sum = 0;
    for (int i = 0; i < x; i++)
        if (i > 0 && y)
            sum += y < 0 ? -1 : 1;
    return sum;
}

int main(void)
{
    const int sum = f(3, 2) + f(0, 9);
    fwrite(cover_hits, 1, sizeof cover_hits, stdout);
    return sum != 2;
}
"""


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions_are_operands_of_what_decides(text: str) -> None:
    assert [text[start:end] for start, end in sorted({*conditions(text)})] == CONDITIONS[text]


def test_jumps_are_conditional_ones_in_strings() -> None:
    found = [ASSEMBLY[start:end] for start, end in jumps(ASSEMBLY)]
    wanted = ["bne 1b", "cbz r2, 2f", "ble.w 1b", "letp lr, 3b", "wlstp.8 lr, %[n], 4f", "b.eq 5f", "blt 6f"]
    assert found == wanted
    text, sites = instrument("f.c", ASSEMBLY, 3)
    assert [site.text for site in sites] == wanted
    assert r'"70003:\n.pushsection .cover\n.long 70003b\n.long 3\n.popsection\nbne 1b\n"' in text


def test_outcomes_are_recorded(tmp_path: Path) -> None:
    text, sites = instrument("f.c", PROGRAM, 0)
    (tmp_path / "f.c").write_text(RECORDER.format(size=3 * len(sites)) + text)
    subprocess.run([require("gcc"), "-std=gnu99", "f.c", "-o", "f"], cwd=tmp_path, check=True)
    hits = subprocess.run([tmp_path / "f"], capture_output=True, check=True).stdout
    branches = [hit for i, hit in enumerate(hits) if i % 3 < 2]
    missing = [described(branch, sites) for branch, hit in enumerate(branches) if not hit]
    assert missing == [
        "`y` is always true in `f` of f.c, line 6",
        "`y < 0` is never true in `f` of f.c, line 7",
    ]


def test_kernels_hold_what_is_said_to_be_unreachable() -> None:
    for file, scope, condition, _ in (branch for reason in reasons() for branch in reason["branches"]):
        text = (ROOT / "runtime_c" / file).read_text(encoding="utf-8")
        sites = {(site.scope, site.text) for site in instrument(file, text, 0)[1]}
        assert (scope, condition) in sites, (file, scope, condition)
