"""Language models in npm packages: tokens and text as in Python, in Node, in a page and in a worker."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import tiny_tokenizer
from support.language_models import folder as model_folder
from support.node_tools import tool
from support.npm_packages import package, run_script
from support.tools import require_module

import edgekit
from edgekit.core.ir import Graph

POSITIONS = 24
TEXTS = ("once upon a time", "", "Grüße, 世界 🎉", "a\nb\tc", "once  upon", "�")
SAMPLINGS: list[dict[str, Any]] = [
    {},
    {"tokens": 5, "temperature": 1.5, "seed": 7},
    {"tokens": 64, "temperature": 0.9, "top_k": 8, "top_p": 0.9, "seed": 2**63 + 1},
    {"tokens": 9, "temperature": 1.0, "repetition_penalty": 1.7},
]
IN_JAVASCRIPT = {"top_k": "topK", "top_p": "topP", "repetition_penalty": "repetitionPenalty"}


def tiny_llama(where: Path, tokens: int = 1, rows: int = 0) -> Graph:
    where.mkdir()
    folder = model_folder()(where)
    tiny_tokenizer.write(folder)
    dims = {"positions": POSITIONS, "tokens": tokens, "logits": rows or tokens}
    return edgekit.convert(folder, name="tiny", dims=dims)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return tiny_llama(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="module")
def made(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_module("ziglang")
    return package(graph, tmp_path_factory.mktemp("package"))


def said(made: Path, body: str) -> Any:
    """What statements give to `answer`."""
    lines = run_script(made, f"let answer; {body} console.log(JSON.stringify(answer));").splitlines()
    return json.loads(lines[0])


def options(sampling: dict[str, Any]) -> str:
    numbers = {IN_JAVASCRIPT.get(name, name): value for name, value in sampling.items()}
    words = (f"{name}: {value}{'n' if name == 'seed' else ''}" for name, value in numbers.items())
    return f"{{ {', '.join(words)} }}"


def test_tokens_are_those_of_python(graph: Graph, made: Path) -> None:
    tokenizer = graph.tokenizer
    assert tokenizer is not None
    found = said(
        made,
        f"""
        const model = await createModel();
        answer = {json.dumps(TEXTS)}.map((text) => {{
          const tokens = model.encode(text);
          return [tokens, model.encode(text, {{ special: false }}), model.decode(tokens)];
        }});
        """,
    )
    for text, (tokens, without, decoded) in zip(TEXTS, found, strict=True):
        assert tokens == tokenizer.encode(text)
        assert without == tokenizer.encode(text, special=False)
        assert decoded == tokenizer.decode(tokens)


@pytest.mark.parametrize("chunk", [1, 5])
def test_texts_are_those_of_python(made: Path, chunk: int, tmp_path: Path) -> None:
    graph = tiny_llama(tmp_path / "model", chunk)
    which = made if chunk == 1 else package(graph, tmp_path)
    calls = ", ".join(options(sampling) for sampling in SAMPLINGS)
    found = said(
        which,
        f"""
        const model = await createModel();
        answer = [{calls}].map((sampling) => [...model.generate("once upon", sampling)]);
        """,
    )
    for sampling, pieces in zip(SAMPLINGS, found, strict=True):
        assert pieces == [*edgekit.generate(graph, "once upon", **sampling)]


@pytest.mark.parametrize(("cores", "rows"), [(1, 1), (2, 3)])
def test_prompts_are_read_by_the_entry_prefill(graph: Graph, cores: int, rows: int, tmp_path: Path) -> None:
    """It has another norm here: the text shows that its caches and its logits are read."""
    prefill = tiny_llama(tmp_path / "model", 3, rows)
    norms = {name: v for name, v in prefill.values.items() if name.endswith("layernorm.weight")}
    turned = {name: replace(v, data=-2 * v.data) for name, v in norms.items() if v.data is not None}
    prefill = replace(prefill, values={**prefill.values, **turned})
    prompts = ["once upon", "once upon a time"]  # 3 and 7 tokens: full runs, and one is left
    made = package(graph, tmp_path, cores=cores, entries={"prefill": prefill})
    found = said(
        made,
        f"""
        const model = await createModel();
        answer = {json.dumps(prompts)}.map((text) => [...model.generate(text, {{ tokens: 9 }})]);
        """,
    )
    assert found == [[*edgekit.generate(graph, text, tokens=9, prefill=prefill)] for text in prompts]
    assert found != [[*edgekit.generate(graph, text, tokens=9)] for text in prompts]


def test_several_threads_write_the_same(graph: Graph, made: Path, tmp_path: Path) -> None:
    body = """
        const model = await createModel();
        answer = [...model.generate("once upon", { temperature: 1, seed: 3 })];
    """
    assert said(package(graph, tmp_path, cores=2), body) == said(made, body)


def test_mistakes_are_said(made: Path) -> None:
    found = said(
        made,
        """
        const model = await createModel();
        const words = (call) => {
          try {
            return JSON.stringify(call());
          } catch (error) {
            return String(error);
          }
        };
        const first = model.generate("a");
        first.next();
        const second = model.generate("b");
        second.next();
        answer = [
          words(() => model.encode("a".repeat(1000))),
          words(() => model.decode([40])),
          words(() => model.generate("a ".repeat(30))),
          words(() => model.generate("a", { temperature: -1 })),
          words(() => model.generate("a", { topP: 2 })),
          words(() => first.next()),
          words(() => (model.dispose(), second.next())),
        ];
        """,
    )
    assert found == [
        "RangeError: tiny: the text has 1000 bytes, and there is room for 192",
        "RangeError: tiny: there is no token 40",
        "RangeError: tiny: the text has 32 tokens, the cache holds 24",
        "RangeError: tiny: temperature cannot be -1",
        "RangeError: tiny: topP cannot be 2",
        "Error: tiny: another text was begun",
        "Error: tiny: this model was disposed",
    ]


def test_a_model_without_a_tokenizer_has_no_text(digits: Path) -> None:
    assert "generate" not in (digits / "digits.js").read_text() + (digits / "digits.d.ts").read_text()


def test_types(made: Path, tmp_path: Path) -> None:
    modules = tmp_path / "node_modules"
    modules.mkdir()
    (modules / "tiny").symlink_to(made)
    (tmp_path / "uses.ts").write_text("""
        import { createModel } from "tiny";
        import { createModelInWorker } from "tiny/worker";
        const model = await createModel();
        const text: string = model.decode(model.encode("a", { special: false }));
        for (const piece of model.generate(text, { tokens: 4, seed: 7n })) console.log(piece.length);
        const there = await createModelInWorker();
        for await (const piece of there.generate(text)) console.log(piece.length);
        // @ts-expect-error
        model.generate(4);
    """)
    settings = {"strict": True, "noEmit": True, "target": "es2022", "lib": ["es2022", "dom"], "types": []}
    settings |= {"module": "esnext", "moduleResolution": "bundler"}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": settings, "files": ["uses.ts"]}))
    assert tool("tsc", "-p", ".", folder=tmp_path) == ""
