"""docs/vocabularies.md names the helpers that headers define."""

from scripts import vocabularies


def test_the_page_is_as_the_script_writes_it() -> None:
    assert vocabularies.PAGE.read_text(encoding="utf-8") == vocabularies.page()


def test_every_prefix_has_helpers_and_a_helper_what_it_does() -> None:
    found = vocabularies.helpers()
    assert all(found.values())
    note, headers = found["vf"]["ek_vf_fma"]
    assert note == "a * b + c, rounded once"
    assert {"f32_x86.h", "f32_wasm.h"} <= {*headers}
    assert "i32x8_avx2.h" in found["x8"]["ek_x8_dot"][1]
    assert found["x8"]["ek_x8_sums"][0]
    assert found["c8"]["ek_c8_sums"][0] != found["x8"]["ek_x8_sums"][0]  # which is EK_WIDE(sums)
