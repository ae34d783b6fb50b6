"""`edgekit export`: a process of the user's Python loads a pickle, if the user trusts who made it."""

import os
import pickle
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from frontends.hostile.unsupported_formats import naming
from support.command_line import CommandLine
from support.tools import require_module

import edgekit

NETWORK = """
import torch

class Doubled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(7, 3)

    def forward(self, tokens, x, scale=None):
        found = self.table(tokens) + x
        return found if scale is None else found * scale
"""
MODULE = naming("torch.nn.modules.linear.Linear")  # to be recognised: the packages below load no pickle


def _harmful(marker: Path) -> bytes:
    """A pickle that looks like a model of scikit-learn, and writes a file as it is loaded."""
    code = f"open({str(marker)!r}, 'w')".encode()
    return (
        b"\x80\x02csklearn.base\nBaseEstimator\n0cbuiltins\nexec\n(X"
        + len(code).to_bytes(4, "little")
        + code
        + b"tR."
    )


def _package(name: str, code: str) -> None:
    """A package in the folder `fake`, in the place of a framework."""
    Path("fake").mkdir(exist_ok=True)
    Path("fake", f"{name}.py").write_text(code)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_torchscript(cli: CommandLine) -> None:
    torch = require_module("torch")
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten()).eval()
    torch.jit.script(net).save("net.pt")
    answer = cli.ok("export", "net.pt", "--trust", "--shape", "1,3,8,8")
    assert answer.out == f"file    net.onnx, exported by {sys.executable}\n"
    assert "net.pt is loaded in a process of its own" in answer.err
    x = torch.randn(1, 3, 8, 8)
    (y,) = edgekit.run(edgekit.convert("net.onnx"), {"input": x.numpy()}).values()
    np.testing.assert_allclose(y, net(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_network_with_code_of_its_own(cli: CommandLine) -> None:
    torch = require_module("torch")
    Path("code").mkdir()
    Path("code", "mine_to_export.py").write_text(NETWORK)
    sys.path.insert(0, "code")
    try:
        net = __import__("mine_to_export").Doubled()
        torch.save({"epoch": 3, "model": net.half()}, "net.pt")
    finally:
        sys.path.remove("code")
        del sys.modules["mine_to_export"]
    line = ("export", "net.pt", "--trust", "-o", "made.pt2", "--shape", "1,4:int64", "--shape", "scale=1")
    missing = cli(*line, "--shape", "x=1,4,3")
    assert (missing.code, "needs the module mine_to_export" in missing.err) == (5, True)
    assert "hint: --pythonpath" in missing.err
    assert not Path("made.pt2").exists()

    cli.ok(*line, "--shape", "x=1,4,3", "--pythonpath", "code")
    tokens, x, scale = torch.tensor([[6, 0, 3, 1]]), torch.randn(1, 4, 3), torch.tensor([3.0])
    given = {"tokens": tokens.numpy(), "x": x.numpy(), "scale": scale.numpy()}
    (y,) = edgekit.run(edgekit.convert("made.pt2"), given).values()
    np.testing.assert_allclose(y, net.float()(tokens, x, scale).detach().numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ("", "the shape of tokens, x is not known, which forward takes"),
        ("1,4", "the shape of x is not known"),
        ("x=1,4 y=1", "--shape y=1 is for no argument of forward(tokens, x, scale)"),
        ("1 1 1 1", "--shape 1 is for no argument"),
        ("x=1 x=1", "--shape x=1 is for no argument"),
        ("1,-4", "--shape 1,-4 is for no argument"),
        ("1 1:load", "load is no type of torch"),
    ],
)
def test_shapes_that_forward_does_not_take(cli: CommandLine, shapes: str, said: str) -> None:
    _package(
        "torch",
        "class dtype: is_floating_point = True\n"
        "float32 = dtype()\n"
        "class nn:\n"
        "    class Module:\n"
        "        def float(self): return self\n"
        "        def eval(self): return self\n"
        "        def forward(self, tokens, x, scale=None): pass\n"
        "class Values:\n"
        "    def __init__(self, shape): pass\n"
        "    def to(self, kind): pass\n"
        "rand = Values\n"
        "def load(path, **options): return nn.Module()\n",
    )
    Path("net.pt").write_bytes(MODULE)
    given = [word for shape in shapes.split() for word in ("--shape", shape)]
    answer = cli("export", "net.pt", "--trust", "--pythonpath", "fake", *given)
    assert (answer.code, said in answer.err) == (5, True), answer.err
    assert "hint: --shape" in answer.err


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")  # which need not converge
@pytest.mark.parametrize("suffix", ["joblib", "pkl"])
def test_model_of_scikit_learn(cli: CommandLine, suffix: str) -> None:
    networks, joblib = require_module("sklearn.neural_network"), require_module("joblib")
    scaler = require_module("sklearn.preprocessing").StandardScaler()
    pipeline = require_module("sklearn.pipeline").make_pipeline
    require_module("skl2onnx")
    rng = np.random.default_rng(0)
    x = rng.normal((0, 1, -9, 100), (1, 1, 3, 50), size=(50, 4)).astype(np.float32)
    model = pipeline(scaler, networks.MLPClassifier((8,), max_iter=300)).fit(
        x, (x[:, 0] > 0).astype(int) + (x[:, 1] > 1)
    )
    if suffix == "joblib":
        joblib.dump(model, "net.joblib", compress=3)
    else:
        Path("net.pkl").write_bytes(pickle.dumps(model))
    cli.ok("export", f"net.{suffix}", "--trust")
    graph = edgekit.convert("net.onnx", shapes={"x": (50, 4)})
    found = edgekit.run(graph, {"x": x})
    np.testing.assert_array_equal(found["label"], model.predict(x))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(x), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["LinearSVC", "LogisticRegression", "SGDClassifier", "Ridge"])
def test_linear_model_of_scikit_learn(cli: CommandLine, kind: str) -> None:
    """Whose classes are text; LinearSVC has no probabilities."""
    joblib, compose = require_module("joblib"), require_module("sklearn.pipeline").make_pipeline
    made = getattr(require_module("sklearn.svm" if kind == "LinearSVC" else "sklearn.linear_model"), kind)()
    require_module("skl2onnx")
    x = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    score = np.rint(x[:, 0] + x[:, 1]).clip(-1, 1).astype(int)
    wanted = score if kind == "Ridge" else np.array(["one", "two", "none"])[score]
    model = compose(require_module("sklearn.preprocessing").Normalizer(), made).fit(x, wanted)
    joblib.dump(model, "net.joblib")
    cli.ok("export", "net.joblib", "--trust")
    answer = cli.ok("convert", "net.onnx", "--shape", "x=50,4")
    found = edgekit.run("net.ek", {"x": x})
    if kind == "Ridge":
        np.testing.assert_allclose(found["variable"][:, 0], model.predict(x), rtol=1e-5, atol=1e-6)
    else:
        assert "note: text became the number of a class in label (0 none, 1 one, 2 two)" in answer.err
        np.testing.assert_array_equal(model.classes_[found["label"]], model.predict(x))


def test_ultralytics_exports_a_copy(cli: CommandLine) -> None:
    """By its own exporter, which writes beside the file that it is given, and installs nothing."""
    _package(
        "ultralytics",
        "import os, pathlib, shutil\n"
        "class YOLO:\n"
        "    def __init__(self, path): self.path = pathlib.Path(path)\n"
        "    def export(self, format, imgsz):\n"
        "        assert (format, imgsz, os.environ['YOLO_AUTOINSTALL']) == ('onnx', [96, 128], 'false')\n"
        f"        model = {str(Path('digits.onnx').resolve())!r}\n"
        "        return shutil.copy(model, self.path.with_suffix('.onnx'))\n",
    )
    Path("yolo.pt").write_bytes(naming("ultralytics.nn.tasks.DetectionModel"))
    line = ("export", "yolo.pt", "--trust", "--pythonpath", "fake", "-o", "made.onnx")
    cli.ok(*line, "--shape", "1,3,96,128")
    assert Path("made.onnx").read_bytes() == Path("digits.onnx").read_bytes()
    assert not Path("yolo.onnx").exists()
    assert "takes one image" in cli(*line, "--shape", "1,3").err


def test_nothing_is_loaded_without_trust(cli: CommandLine, folder: Path) -> None:
    require_module("joblib")
    marker = folder / "ran"
    Path("net.pkl").write_bytes(_harmful(marker))
    answer = cli("export", "net.pkl")
    assert answer.code == 2
    assert "E0108 net.pkl is a pickle of a scikit-learn model, which can run any code" in answer.err
    assert "hint: edgekit export net.pkl --trust" in answer.err
    assert "edgekit export net.pkl --trust" in cli("inspect", "net.pkl").err
    assert not marker.exists()
    cli("export", "net.pkl", "--trust")
    assert marker.exists()  # this is what trust means


def test_weights_alone_are_refused_with_trust_too(cli: CommandLine) -> None:
    Path("net.pt").write_bytes(naming("collections.OrderedDict", "torch._utils._rebuild_tensor_v2"))
    answer = cli("export", "net.pt", "--trust")
    assert answer.code == 4
    assert "weights without their network (a state dict)" in answer.err
    assert "net.load_state_dict(torch.load(" in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("digits.onnx", "E0103 digits.onnx needs no export"),
        ("x.npz", "E0206 x.npz is no pickle that EdgeKit knows"),
        ("nothing.pt", "E0104 cannot read nothing.pt"),
        ("net.pt -o net.tflite", "E0105 cannot write net.tflite"),
        ("net.pt --python nowhere", "E0103 there is no program nowhere"),
    ],
)
def test_what_cannot_be_exported(cli: CommandLine, words: str, said: str) -> None:
    Path("net.pt").write_bytes(MODULE)
    answer = cli("export", *words.split(), "--trust")
    assert answer.code in (2, 3)
    assert said in answer.err


def test_modules_beside_the_file_are_not_imported(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that came with the file may hold modules of common names."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    for name in ("torch", "inspect", "json"):
        Path(f"{name}.py").write_text(f"open({str(Path('ran').resolve())!r}, 'w')")
    _package("torch", "def load(path, **options): raise RuntimeError('as it should be')")
    Path("net.pt").write_bytes(MODULE)
    assert "as it should be" in cli("export", "net.pt", "--trust", "--pythonpath", "fake").err
    assert not Path("ran").exists()


def test_package_that_is_missing(cli: CommandLine) -> None:
    _package("torch", "raise ModuleNotFoundError('no', name='torch')")
    Path("net.pt").write_bytes(MODULE)
    answer = cli("export", "net.pt", "--trust", "--pythonpath", "fake")
    assert answer.code == 5
    assert f"{sys.executable} has no package torch" in answer.err
    assert f"hint: {sys.executable} -m pip install torch" in answer.err


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("for i in range(100_000): print(i)\n    raise RuntimeError('the end')", "RuntimeError: the end"),
        ("import os; os._exit(7)", "it ended with code 7 and said nothing"),
        (
            "raise AttributeError(\"Can't get attribute 'Net' on <module '__main__'>\")",
            "script that saved it",
        ),
        ("return {'weights': 1}", "the file holds a dict, and no network in it"),
    ],
)
def test_failure_says_why_in_a_few_lines(cli: CommandLine, code: str, said: str) -> None:
    _package("torch", f"class nn:\n    class Module: pass\ndef load(path, **options):\n    {code}\n")
    Path("net.pt").write_bytes(MODULE)
    answer = cli("export", "net.pt", "--trust", "--pythonpath", "fake")
    assert answer.code == 5
    assert said in answer.err
    assert len(answer.err.splitlines()) < 20
    assert sorted(path.name for path in Path().glob("net*")) == ["net.pt"]


def test_hang_is_ended_with_all_that_it_started(cli: CommandLine) -> None:
    _package(
        "torch",
        "import pathlib, subprocess, sys, time\n"
        "def load(path, **options):\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"    pathlib.Path({str(Path('child').resolve())!r}).write_text(str(child.pid))\n"
        "    time.sleep(600)\n",
    )
    Path("net.pt").write_bytes(MODULE)
    began = time.monotonic()
    answer = cli("export", "net.pt", "--trust", "--pythonpath", "fake", "--timeout", "3")
    assert answer.code == 5
    assert "E0503 the export did not end within 3 s" in answer.err
    assert time.monotonic() - began < 60
    child = int(Path("child").read_text())
    while _runs(child) and time.monotonic() - began < 60:
        time.sleep(0.1)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    """Is there such a process, which is no zombie?"""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_answer_that_leads_elsewhere_is_not_followed(cli: CommandLine, folder: Path) -> None:
    """The file that is taken is one that the process wrote into its own folder."""
    _package(
        "ultralytics",
        "class YOLO:\n"
        "    def __init__(self, path): pass\n"
        f"    def export(self, **options): return {str(folder / 'digits.onnx')!r}\n",
    )
    Path("yolo.pt").write_bytes(naming("ultralytics.nn.tasks.DetectionModel"))
    answer = cli("export", "yolo.pt", "--trust", "--pythonpath", "fake")
    assert answer.code == 4
    assert "E0404" in answer.err
    assert not Path("yolo.onnx").exists()
