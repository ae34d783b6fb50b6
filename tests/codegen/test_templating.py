"""Where a `{{ }}` stands in a file decides how text is escaped there."""

import json

import jinja2
import pytest
from support.tools import ROOT

from edgekit.core import escape, templating
from edgekit.core.escape import Code, UnsafeTextError

TEMPLATES = sorted(
    path
    for folder in ("codegen/printing", "edgekit/reports")
    for path in (ROOT / folder / "templates").rglob("*.j2")
)


def rendered(name: str, template: str, **values: object) -> str:
    environment = templating.environment("edgekit.reports")
    environment.loader = jinja2.DictLoader({name: template})
    return environment.get_template(name).render(values)


@pytest.mark.parametrize(
    ("name", "template", "text", "expected"),
    [
        ("a.c.j2", "/* {{ x }} */", "a*/b\\c/*d", "/* a*_b_c_*d */"),
        ("a.c.j2", "/* {{ x }} */", "*a\nb*", "/* _a_b_ */"),
        ("a.h.j2", "int a; // {{ x }}\n", "a\\\nb??/", "int a; // a__b__/\n"),
        ("a.c.j2", 'puts("{{ x }}");', '"; f();\\??/', 'puts("\\042; f();\\134\\077\\077/");'),
        ("a.c.j2", 'puts("\\"{{ x }}");', "é", 'puts("\\"\\303\\251");'),
        ("a.c.j2", "char c = '\"'; /* {{ x }} */", "\\", "char c = '\"'; /* _ */"),
        ("a.js.j2", 'f("{{ x }}");', '"</script>', 'f("\\u0022\\u003c/script\\u003e");'),
        ("a.js.j2", "f(`{{ x }}`);", "`${y}\n", "f(`\\`\\${y}\n`);"),
        ("a.js.j2", "f(`${ {a: '{{ x }}'} } {{ x }}`);", "'`", "f(`${ {a: '\\u0027\\u0060'} } '\\``);"),
        ("a.cmake.j2", 'f("{{ x }}")', '";$(a)', 'f("___(a)")'),
        ("Kconfig.j2", 'bool "{{ x }}"', "$(shell,ls)", 'bool "_(shell,ls)"'),
        ("a.yml.j2", 'a: "{{ x }}"', '"\nb: c', 'a: "\\u0022\\u000ab: c"'),
        ("a.yml.j2", 'a: "{{ x }}"', "😀\udc80", 'a: "\\U0001f600\\u003f"'),
        ("a.py.j2", "f('{{ x }}')  # {{ x }}", "'😀", "f('\\u0027\\U0001f600')  # '_"),
        (
            "a.rs.j2",
            'f::<\'a>("{{ x }}"); // {{ x }}\n',
            '"😀\n',
            'f::<\'a>("\\u{22}\\u{1f600}\\u{a}"); // "__\n',
        ),
        ("a.rs.j2", "//! {{ x }}\n", "```\nfn main() {}", "//! ____fn main() {}\n"),
        ("a.rs.j2", "/* {{ x }} */", "/* */ b", "/* _* *_ b */"),
        (
            "a.go.j2",
            '/*\n#cgo A: b\n*/\n/* {{ x }} */ f("{{ x }}")',
            '"*/',
            '/*\n#cgo A: b\n*/\n/* "*_ */ f("\\u0022*/")',
        ),
        (
            "a.cs.j2",
            '/// {{ x }}\n// {{ x }}\nf("{{ x }}");',
            '</a>"\n',
            '/// _/a___\n// _/a>"_\nf("\\u003c/a\\u003e\\u0022\\u000a");',
        ),
        ("a.csproj.j2", '<a b="{{ x }}">{{ x }}</a>', '"</a>', '<a b="&#34;&lt;/a&gt;">&#34;&lt;/a&gt;</a>'),
        (
            "a.java.j2",
            'f("{{ x }}"); // {{ x }}\n',
            '"\\u0022é',
            'f("\\042\\134u0022\\u00e9"); // "_u0022_\n',
        ),
        ("a.kts.j2", 'f("{{ x }}")', '"$a', 'f("\\u0022\\u0024a")'),
        ("a.properties.j2", "a={{ x }}", "b\nc=\\", "a=b_c=_"),
        ("a.html.j2", "<p title='{{ x }}'>{{ x }}</p>", "<'>", "<p title='&lt;&#39;&gt;'>&lt;&#39;&gt;</p>"),
        (
            "a.html.j2",
            '<script>f("{{ x }}")</script>',
            "</script>",
            '<script>f("\\u003c/script\\u003e")</script>',
        ),
        (
            "a.html.j2",
            "<script>f(`{{ x }}`) /* {{ x }} */</script>",
            "</script><!--",
            "<script>f(`\\x3c/script>\\x3c!--`) /* _/script>_!-- */</script>",
        ),
        ("a.md.j2", "{{ x }}", "[a](b) <i> my_file _b_", "\\[a\\](b) \\<i\\> my_file \\_b\\_"),
        ("a.md.j2", "`{{ x }}`", "a`b", "`a_b`"),
    ],
)
def test_the_place_decides(name: str, template: str, text: str, expected: str) -> None:
    assert rendered(name, template, x=text) == expected


@pytest.mark.parametrize("name", ["a.c.j2", "a.js.j2", "a.cmake.j2", "a.yml.j2", "Kconfig.j2"])
@pytest.mark.parametrize("text", ["a;", "a()", '"', "a\nb", "$a", "a#b", "/*"])
def test_text_is_no_code(name: str, text: str) -> None:
    with pytest.raises(UnsafeTextError):
        rendered(name, "x {{ x }}", x=text)
    assert rendered(name, "x {{ x }}", x=Code(text)) == f"x {text}"


def test_the_preamble_of_cgo_is_code() -> None:
    with pytest.raises(UnsafeTextError):
        rendered("a.go.j2", "/*\n#cgo CFLAGS: -O2\n{{ x }}\n*/", x="int system(...);")


def test_code_is_text_within_strings_and_comments() -> None:
    assert rendered("a.js.j2", "f(`{{ x }}`)", x=Code("a`")) == "f(`a\\``)"
    assert rendered("a.c.j2", "/* {{ x }} */", x=Code("*/")) == "/* __ */"


@pytest.mark.parametrize("template", ["/* {{ x }} */", "// {{ x }}\n"])
def test_comments_leave_out_the_middle_of_what_is_too_long(template: str) -> None:
    text = rendered("a.c.j2", template, x="a" * 10**5 + "*/ */" + "b" * 10**5 + "*")
    assert len(text) < 1.1 * escape.MAX_COMMENT
    assert "aaa [...] bbb" in text
    assert text.count("*/") == template.count("*/")


def test_words_of_the_template_stay() -> None:
    assert rendered("a.c.j2", '{{ "f();" if x }}{{ "g();" if not x }}', x=1) == "f();"


@pytest.mark.parametrize(
    ("name", "template", "words"),
    [
        ("a.c.j2", "{% if x %}/*{% endif %} {{ x }}", "different contexts"),
        ("a.c.j2", '{% for a in x %}"{% endfor %}', "different contexts"),
        ("a.c.j2", '{% if x %}"{% else %}/*{% endif %}', "different contexts"),
        ("a.c.j2", "/* {{ x }}", "ends in a block comment"),
        ("a.c.j2", "/** a *{{ x }} */", "may end a comment"),
        ("a.c.j2", '/* {% include "b.c.j2" %} */', "include stands in a block comment"),
        ("a.html.j2", "<p class={{ x }}>", "needs quotes"),
        ("a.py.j2", "# {{ x }}\n", "may name the encoding"),
        ("a.py.j2", "\n# a\n# {{ x }}\nimport a\n", "may name the encoding"),
        ("a.sh.j2", "echo {{ x }}", "no escapes for its language"),
    ],
)
def test_templates_that_cannot_be_followed_are_refused(name: str, template: str, words: str) -> None:
    with pytest.raises(jinja2.TemplateSyntaxError, match=words):
        rendered(name, template, x="x")


def test_what_is_missing_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        rendered("a.c.j2", "{{ y }}", x=1)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_template_has_a_language(path: object) -> None:
    assert templating.language(str(path))


@pytest.mark.parametrize("text", ['"\\\n\t\0\x7f', "é\u2028😀\udc80", "</script>${a}`'"])
def test_json_reads_escaped_strings_back(text: str) -> None:
    assert json.loads(f'"{escape.unicode_string(text)}"') == text
