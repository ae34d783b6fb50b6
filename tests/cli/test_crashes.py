"""Commands that are killed or run out of disk: folders stay as they were, or the next one completes them."""

import json
import os
import tempfile
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest
from support.crashes import REFUSED, full_at, in_child, killed_at

from edgekit import EdgeKitError, Graph
from edgekit.codegen.compilation import publish
from edgekit.core import atomic, transaction
from edgekit.tuning.problem import file_stem

Files = dict[str, bytes]


def library(**files: str) -> Files:
    """Files of a build, with the manifest; two underscores stand for a slash and a point."""
    made = {name.replace("__", "/").replace("_", "."): text.encode() for name, text in files.items()}
    digests = {name: sha256(data).hexdigest() for name, data in made.items()}
    return made | {publish.MANIFEST: json.dumps({"sha256": digests}).encode()}


OLD = library(kws_c="int x;", kws_h="old", edgekit__add_h="add", edgekit__mul_h="mul")
NEW = library(kws_c="int y;", kws_h="new", edgekit__add_h="add", edgekit__div_h="div", npm__kws_js="js")
MINE = {"notes.txt": b"mine", "edgekit/mine.h": b"mine, too"}


def content(folder: Path) -> Files:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def seen(folder: Path) -> Files:
    """What a reader takes for files of the library, and the user's own."""
    return {path: data for path, data in content(folder).items() if not path.startswith(".edgekit-")}


def prepared(folder: Path, start: str) -> Path:
    """A folder that is not there yet, or holds a library and files of the user's."""
    if start == "old":
        publish.publish(OLD, folder)
        for path, data in MINE.items():
            (folder / path).write_bytes(data)
    return folder


def before(start: str) -> Files:
    return OLD | MINE if start == "old" else {}


def after(start: str) -> Files:
    return NEW | MINE if start == "old" else NEW


def test_names_of_files_are_what_they_should_be() -> None:
    assert set(OLD) == {"kws.c", "kws.h", "edgekit/add.h", "edgekit/mul.h", "edgekit.manifest.json"}


@pytest.mark.parametrize("start", ["new", "old"])
def test_a_killed_build_is_dropped_or_completed_by_the_next(tmp_path: Path, start: str) -> None:
    outcomes = []
    for step in count():
        folder = prepared(tmp_path / f"out{step}", start)
        if not killed_at(step, folder, partial(publish.publish, NEW, folder)):
            break
        found = seen(folder)
        assert not MINE.keys() & before(start).keys() - found.keys()
        if publish.MANIFEST in found:  # then all belongs together, whatever a reader reads first
            assert found in (before(start), after(start)), step
        if folder.exists():
            transaction.recover(folder)
        assert content(folder) in (before(start), after(start)), step
        outcomes.append(content(folder) == after(start))
        publish.publish(NEW, folder)
        assert content(folder) == after(start)
    assert outcomes == sorted(outcomes)  # once it counts, it counts
    assert {False, True} == set(outcomes)
    assert len(outcomes) > 3 * len(NEW)
    assert content(folder) == after(start)


def test_a_completion_that_is_killed_is_completed(tmp_path: Path) -> None:
    committed = 0
    for step in count():
        folder = prepared(tmp_path / f"count{step}", "old")
        assert killed_at(step, folder, partial(publish.publish, NEW, folder))
        if (folder / ".edgekit-commit").exists():
            committed = step
            break
    for step in count():
        folder = prepared(tmp_path / f"out{step}", "old")
        assert killed_at(committed, folder, partial(publish.publish, NEW, folder))
        if not killed_at(step, folder, partial(transaction.recover, folder)):
            break
        transaction.recover(folder)
        assert content(folder) == NEW | MINE, step
    assert step > len(NEW)


@pytest.mark.parametrize("start", ["new", "old"])
def test_on_a_full_disk_all_stays_or_the_next_build_completes_it(tmp_path: Path, start: str) -> None:
    outcomes = []
    for step in count():
        folder = prepared(tmp_path / f"out{step}", start)
        if not full_at(step, folder, partial(publish.publish, NEW, folder)):
            break
        completed = (folder / ".edgekit-commit").exists()
        assert completed or content(folder) == before(start), step
        assert completed or start == "old" or not folder.exists(), step
        publish.publish(NEW, folder)
        assert content(folder) == after(start)
        outcomes.append(completed)
    assert {False, True} == set(outcomes)


def test_what_the_user_changed_after_the_crash_stays(tmp_path: Path) -> None:
    for step in count():
        folder = prepared(tmp_path / f"out{step}", "old")
        assert killed_at(step, folder, partial(publish.publish, NEW, folder))
        if (folder / ".edgekit-commit").exists() and publish.MANIFEST not in seen(folder):
            break
    (folder / "kws.c").write_text("improved")
    (folder / "edgekit/mul.h").write_text("improved")
    with pytest.raises(EdgeKitError, match=r"E0109 .*: kws\.c"):
        publish.publish(NEW, folder)
    changed = {"kws.c": b"improved", "edgekit/mul.h": b"improved"}
    assert content(folder) == NEW | MINE | changed
    publish.publish(NEW, folder, force=True)
    assert content(folder) == NEW | MINE | {"edgekit/mul.h": b"improved"}


def test_a_killed_writer_of_one_file_leaves_nothing_for_good(tmp_path: Path) -> None:
    path = tmp_path / "model.ek"
    for step in count():
        path.write_bytes(b"old")
        ended = not killed_at(step, tmp_path, lambda: atomic.write(path, [b"n", b"ew"]))
        assert path.read_bytes() in ((b"new",) if ended else (b"old", b"new"))
        atomic.write(tmp_path / "other", [b"other"])
        assert set(os.listdir(tmp_path)) == {"model.ek", "other"}
        if ended:
            break
    assert step >= 2


def test_writers_leave_each_other_alone(tmp_path: Path) -> None:
    def slow() -> Iterator[bytes]:
        yield b"a"
        atomic.write(tmp_path / "b", [b"b"])  # sees the unfinished file of the other
        yield b"a"

    atomic.write(tmp_path / "a", slow())
    assert content(tmp_path) == {"a": b"aa", "b": b"b"}


def test_builds_at_once_come_one_after_the_other(tmp_path: Path) -> None:
    def publish_often(number: int) -> None:
        files = library(kws_c=str(number), **{f"only{number}_h": str(number)})
        for _ in range(20):
            publish.publish(files, tmp_path / "out")

    children = []
    for number in range(4):
        if not (child := os.fork()):
            os._exit(in_child(partial(publish_often, number)))
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0, 0]
    files = content(tmp_path / "out")
    number = files["kws.c"].decode()
    assert files == library(kws_c=number, **{f"only{number}_h": number})


def test_a_folder_that_cannot_be_written_says_so_and_stays() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        folder = prepared(Path(scratch) / "out", "old")
        for path in (folder, folder / "edgekit"):
            path.chmod(0o555)

        def without_privileges() -> None:
            if os.geteuid() == 0:
                os.seteuid(65534)
            with pytest.raises(EdgeKitError, match=r"E0105 cannot write into .*: Permission denied"):
                publish.publish(NEW, folder)

        assert in_child(without_privileges) == 0
        assert content(folder) == OLD | MINE
        for path in (folder, folder / "edgekit"):
            path.chmod(0o755)


def test_a_folder_behind_a_link_is_written_where_it_is(tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    other = shared if shared.is_dir() and shared.stat().st_dev != tmp_path.stat().st_dev else tmp_path
    with tempfile.TemporaryDirectory(dir=other) as elsewhere:
        link = tmp_path / "out"
        link.symlink_to(elsewhere)
        prepared(link, "old")
        publish.publish(NEW, link)
        assert link.is_symlink()
        assert content(Path(elsewhere)) == NEW | MINE


def test_a_file_that_is_a_link_is_replaced_not_what_it_leads_to(tmp_path: Path) -> None:
    precious, folder = tmp_path / "precious", tmp_path / "out"
    precious.write_text("precious")
    folder.mkdir()
    (folder / "kws.c").symlink_to(precious)
    with pytest.raises(EdgeKitError, match=r"E0109 .*: kws\.c"):
        publish.publish(NEW, folder)
    publish.publish(NEW, folder, force=True)
    assert content(folder) == NEW
    assert precious.read_text() == "precious"


@pytest.mark.parametrize("what", ["link", "file", "folder"])
def test_what_is_in_the_way_is_named_and_nothing_changes(tmp_path: Path, what: str) -> None:
    folder, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    match what:
        case "link":
            (folder / "edgekit").symlink_to(elsewhere)
        case "file":
            (folder / "edgekit").write_text("mine")
        case "folder":
            (folder / "kws.c").mkdir()
    found = content(tmp_path)
    with pytest.raises(EdgeKitError, match=r"E0105 cannot write .*(edgekit|kws\.c)"):
        publish.publish(NEW, folder, force=True)
    assert content(tmp_path) == found


def journal(folder: Path, **entries: object) -> None:
    whole = {"seal": "", "files": {}, "removed": {}} | entries
    (folder / "journal.json").write_text(json.dumps(whole))


@pytest.mark.parametrize("way", ["up", "root", "link", "linked_files", "linked_folder", "nonsense"])
def test_a_forged_journal_changes_nothing_elsewhere(tmp_path: Path, way: str) -> None:
    secret, out = tmp_path / "secret", tmp_path / "out"
    secret.mkdir()
    (secret / "key").write_text("precious")
    digest = sha256(b"precious").hexdigest()
    commit = out / ".edgekit-commit"
    (commit / "files/a").mkdir(parents=True)
    (commit / "files/a/new").write_text("evil")
    match way:
        case "up":
            journal(commit, files={"a/../../secret/new": None}, removed={"../secret/key": digest})
        case "root":
            journal(commit, files={f"{secret}/new": None}, removed={f"{secret}/key": digest})
        case "link":
            (out / "a").symlink_to(secret)
            journal(commit, files={"a/new": None}, removed={"a/key": digest})
        case "linked_files":
            (out / "a").mkdir()
            (commit / "files/a/new").unlink()
            (commit / "files/a").rmdir()
            (commit / "files/a").symlink_to(secret)
            journal(commit, files={"a/key": None})
        case "linked_folder":
            journal(commit, files={"a/new": None})
            commit.rename(secret / "commit")
            commit.symlink_to(secret / "commit")
        case "nonsense":
            journal(commit, seal=[3], files=[[1]], removed={"secret": 3})
    found = content(secret)
    transaction.recover(out)
    publish.publish(NEW, out)
    assert content(secret) == found
    assert {path for path in os.listdir(out) if path.startswith(".")} == set()


@pytest.mark.parametrize("name", ["../../evil", "/evil", "..", "a\0b", "a/b", ""])
def test_names_of_models_name_no_file_elsewhere(name: str) -> None:
    stem = file_stem(name)
    assert stem == Path(stem).name
    assert stem.isprintable()
    assert not stem.startswith(".")


def test_a_model_is_saved_whole_or_not_at_all(digits_graph: Graph, tmp_path: Path) -> None:
    from edgekit import save

    save(digits_graph, tmp_path / "other.ek")
    whole = (tmp_path / "other.ek").read_bytes()
    path = tmp_path / "models/digits.ek"
    path.parent.mkdir()
    for step in count():
        if not killed_at(step, path.parent, lambda: save(digits_graph, path)):
            break
        assert not path.exists() or path.read_bytes() == whole
    assert content(path.parent) == {"digits.ek": whole}
    assert in_child(lambda: save(digits_graph, tmp_path / "nowhere/digits.ek")) == REFUSED
