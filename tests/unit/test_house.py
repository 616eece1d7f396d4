"""The rules of this project that linters and type checkers don't check."""

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests.support import random_encoder
from tests.support.model_server import model_server
from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("assistant", "models", "ui", "data")
LONGEST_FILE = 400
LONGEST_FUNCTION = 60
# The character classes of one letter keep these patterns from matching themselves.
UNFINISHED = re.compile(r"TO[D]O|FIX[M]E|XX[X]\b")
PUT_ASIDE = re.compile(r"pytest\.(mark\.)?(ski[p]|xfai[l])|importorski[p]|unittest\.ski[p]")
REGISTRIES = re.compile(r"pyp[i]\.org|pythonhoste[d]|download\.pytorc[h]")
HEAVY = (
    "torch",
    "sentence_transformers",
    "transformers",
    "textual",
    "lancedb",
    "pipecat",
    "faster_whisper",
    "onnxruntime",
    "sounddevice",
    "numpy",
)


@cache
def python_files() -> list[Path]:
    folders = (*PACKAGES, "scripts", "tests")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@dataclass
class Contents:
    """What the tests need to know of a Python file. Its syntax tree is not kept, because the
    garbage collector would search the trees of all files again and again."""

    long_functions: list[str] = field(default_factory=list)
    """Their lines and names."""
    swallowing: list[int] = field(default_factory=list)
    """Lines of the exception handlers that do nothing."""
    imports: set[str] = field(default_factory=set)
    """Top-level names."""

    def add(self, node: ast.AST) -> None:
        """Add a statement or an exception handler, and all that it contains. Expressions are left
        out: they contain no statements, and are nine tenths of all nodes."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if (node.end_lineno or node.lineno) - node.lineno + 1 > LONGEST_FUNCTION:
                self.long_functions.append(f"{node.lineno} {node.name}")
        elif isinstance(node, ast.ExceptHandler):
            if all(isinstance(statement, ast.Pass) for statement in node.body):
                self.swallowing.append(node.lineno)
        elif isinstance(node, ast.Import):
            self.imports |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            self.imports.add(node.module.partition(".")[0])
        for block in ("body", "handlers", "orelse", "finalbody", "cases"):
            for each in getattr(node, block, ()):
                self.add(each)


@cache
def contents() -> dict[Path, Contents]:
    """The contents of every Python file, parsed once for all tests."""
    found = {path: Contents() for path in python_files()}
    for path, each in found.items():
        each.add(ast.parse(path.read_text("utf-8")))
    return found


@cache
def distributions() -> Mapping[str, list[str]]:
    """The distributions that each installed top-level package belongs to; this takes seconds."""
    return importlib.metadata.packages_distributions()


def text_files() -> Iterator[tuple[Path, str]]:
    """All text files of the project, as git would see them in a clean tree."""
    names = (*PACKAGES, "scripts", "tests", "docs", ".ci", ".github")
    inside = [path for name in names for path in (ROOT / name).rglob("*") if path.is_file()]
    beside = [path for path in ROOT.iterdir() if path.is_file()]
    for path in sorted(inside + beside):
        if "__pycache__" in path.parts or path.name == ".venv.lock":
            continue
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a recording or a picture


def places(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path, text in text_files()
        for match in pattern.finditer(text)
    ]


def test_there_are_files_to_check() -> None:
    assert len(python_files()) > 30
    assert {"README.md", "pyproject.toml", "run"} <= {path.name for path, _ in text_files()}


def test_files_are_short() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in python_files()}

    assert [f"{path}: {n}" for path, n in lengths.items() if n > LONGEST_FILE] == []


def test_functions_are_short() -> None:
    long = [f"{path}:{each}" for path, has in contents().items() for each in has.long_functions]

    assert long == []


def test_no_error_is_swallowed() -> None:
    swallowed = [f"{path}:{line}" for path, has in contents().items() for line in has.swallowing]

    assert swallowed == []


@pytest.mark.parametrize("pattern", [UNFINISHED, PUT_ASIDE, REGISTRIES])
def test_no_file_contains_unfinished_work_a_skipped_test_or_a_registry(
    pattern: re.Pattern[str],
) -> None:
    assert places(pattern) == []


def test_importing_the_command_line_imports_no_heavy_library() -> None:
    code = "import json, sys, ui.commands.main; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}

    assert "ui" in loaded
    assert loaded & set(HEAVY) == set()
    assert done.stderr == ""


def said(process: subprocess.Popen[str], text: str, kind: str) -> str:
    """Type a line; return the next event of a kind, or "" if the process ends before it."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{text}\n")
    process.stdin.flush()
    return next((line for line in process.stdout if f'"event": "{kind}"' in line), "")


def test_a_typed_session_imports_no_engine_of_speech_and_no_client_of_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would double the time that a start takes."""
    for model in ("whisper", "voice", "encoder"):
        (tmp_path / model).mkdir()
    random_encoder.prepare(tmp_path / "encoder", random_encoder.publish(tmp_path / "encoder"))
    monkeypatch.setenv("ASSISTANT_MODELS_CACHE", str(tmp_path / "none"))
    code = (
        "import json, sys, ui.commands.main as command\n"
        "code = command.main(sys.argv[1:])\n"
        "print(json.dumps(sorted(sys.modules)))\n"
        "sys.exit(code)"
    )
    with model_server(lambda _newest: "Hello there.") as url:
        chosen = {
            "general.profile": "tiny",
            "llm.endpoint": url,
            "stt.model": tmp_path / "whisper",
            "tts.model": tmp_path / "voice",
            "memory.encoder": tmp_path / "encoder",
        }
        flags = [f"--set={name}={value}" for name, value in chosen.items()]
        with subprocess.Popen(
            [sys.executable, "-c", code, "talk", "--text", "--json", *flags],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                turn = said(process, "My locker is by the door.", "turn")
                until = time.monotonic() + PATIENCE_S
                while "loading" in (known := said(process, "What do you know of me?", "remark")):
                    assert time.monotonic() < until
                    time.sleep(0.1)
                rest, _ = process.communicate(timeout=PATIENCE_S)
            finally:
                process.kill()
    loaded = set(json.loads(rest.splitlines()[-1]))

    assert process.returncode == 0
    assert "Hello there." in turn
    assert "locker" in known
    assert {"assistant.app", "lancedb.db", "models.stt.whisper", "models.tts.piper"} <= loaded
    unused = {
        "aiohttp.client",
        "ctranslate2",
        "faster_whisper",
        "mcp",
        "onnx",
        "piper",
        "torch",
        "lance_namespace_urllib3_client",
        "overrides",
    }
    assert loaded & unused == set()


def test_no_other_distribution_claims_our_packages() -> None:
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["name"]
    owners = distributions()

    assert "pytest" in owners
    assert {name: set(owners.get(name, ())) - {ours} for name in PACKAGES} == {
        name: set() for name in PACKAGES
    }


def test_constraints_pin_every_dependency_and_name_no_location() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[\[<>=;~! ]", entry)[0].lower() for entry in wanted}
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]

    assert all(re.match(r"^[a-z0-9._-]+==[^ @]+( ; .+)?$", line) for line in pins)
    assert names - {line.partition("==")[0] for line in pins} == set()


def imported(folder: str) -> set[str]:
    """Top-level names that the Python files of a folder import."""
    return set[str]().union(
        *(has.imports for path, has in contents().items() if ROOT / folder in path.parents)
    )


def test_every_imported_package_is_a_declared_dependency() -> None:
    """A package that a dependency brings along today may be missing from its next version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {
        re.split(r"[\[<>=;~! ]", entry)[0].lower().replace("_", "-")
        for entry in project["dependencies"]
    }
    owners = distributions()
    foreign = {
        name
        for folder in PACKAGES
        for name in imported(folder)
        if name not in sys.stdlib_module_names and name not in PACKAGES
    }
    undeclared = {
        name
        for name in foreign
        if not {owner.lower().replace("_", "-") for owner in owners.get(name, ())} & declared
    }

    assert "pydantic" in foreign
    assert undeclared == set()


@pytest.mark.parametrize("package", ["assistant", "models"])
def test_telemetry_is_switched_off_before_any_library_is_loaded(package: str) -> None:
    code = f"import {package}, json, os, sys; print(json.dumps([dict(os.environ), *sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "TEXTUAL_LOG": "keys.log"},
        capture_output=True,
        text=True,
        check=True,
    )
    environment, *loaded = json.loads(done.stdout)

    assert environment["ORT_DISABLE_TELEMETRY"] == environment["HF_HUB_DISABLE_TELEMETRY"] == "1"
    assert "TEXTUAL_LOG" not in environment
    assert not {"onnxruntime", "huggingface_hub"} & set(loaded)


def test_programs_load_the_project_before_libraries_that_send_telemetry() -> None:
    """`assistant` and `models` switch telemetry off; a script must not load onnxruntime earlier."""
    reporting = {"onnxruntime", "piper", "pipecat"}
    early = []
    for path in sorted((ROOT / "scripts").glob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            roots = {name.partition(".")[0] for name in names}
            if roots & {*PACKAGES, "scripts"}:
                break
            early += [f"{path.name}: {name}" for name in sorted(roots & reporting)]

    assert early == []
