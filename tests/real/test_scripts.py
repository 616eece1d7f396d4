"""`scripts/run` on a fresh machine, and everything that can go wrong there.

The tests use a miniature project with our scripts, and a short build backend that needs no network;
shell, Python, venv and pip are real.
"""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "miniature"
version = "1"

[project.optional-dependencies]
dev = []
"""

BACKEND = '''\
"""Builds an editable wheel by hand; waits while a file `hang` exists, fails if `fail` does."""

import os
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).parent


def build_editable(folder, config_settings=None, metadata_directory=None):
    with (HERE / "builds.txt").open("a") as log:
        log.write("built\\n")
    while (HERE / "hang").exists():
        time.sleep(0.02)
    if (HERE / "fail").exists():
        raise SystemExit("no space left on device")
    info = "miniature-1.dist-info"
    name = "miniature-1-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / name, "w") as wheel:
        wheel.writestr("miniature.pth", str(HERE) + os.linesep)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: miniature\\nVersion: 1\\n"
                       "Provides-Extra: dev\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\n"
                       "Root-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\\nassistant = cli:main\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
'''

CLI = """\
import json, os, sys

def main():
    print(json.dumps({"argv": sys.argv[1:], "cwd": os.getcwd(), "prefix": sys.prefix}))
    return 7
"""


WORDS = ("talk", "--input", "a b.wav", "", "it's", '"quoted"', "$HOME", "*")


HEEDING_CTRL_C = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Runs its arguments as a terminal would, even if the tests themselves run in the background."""


class Miniature:
    """A clone of the project in a folder whose name contains spaces."""

    first: "subprocess.CompletedProcess[str]"

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(SCRIPTS, root / "scripts", ignore=shutil.ignore_patterns("*.py"))
        (root / "pyproject.toml").write_text(PYPROJECT)
        (root / "constraints.txt").write_text("six==1.17.0\n")
        (root / "backend.py").write_text(BACKEND)
        (root / "cli.py").write_text(CLI)

    @property
    def builds(self) -> int:
        log = self.root / "builds.txt"
        return log.read_text().count("built") if log.exists() else 0

    def start(self, *words: str, script: str = "run", **more: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", HEEDING_CTRL_C, str(self.root / "scripts" / script), *words],
            cwd=self.root.parent,
            env=environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        process = self.start(*words, **more)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def shell(self, code: str, **more: str) -> "subprocess.CompletedProcess[str]":
        """Source the scripts' shared part, then run `code`, which may replace its functions."""
        head = f"set -eu\nroot='{self.root}'\n. '{self.root}/scripts/_setup.sh'\n"
        return quietly(["sh", "-c", head + code], environment(**more))


def environment(**more: str) -> dict[str, str]:
    """The environment of a machine without our tools: no virtual environment, the tests' Python."""
    kept = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
    return {**kept, "PYTHON": sys.executable, **more}


def quietly(command: list[str], variables: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def miniature(tmp_path: Path) -> Miniature:
    root = tmp_path / "a clone with spaces"
    root.mkdir()
    return Miniature(root)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Miniature:
    """A miniature that has been started once; tests that use it must not damage it."""
    root = tmp_path_factory.mktemp("installed") / "a clone with spaces"
    root.mkdir()
    whole = Miniature(root)
    whole.first = whole.run(*WORDS)
    assert whole.builds == 1
    return whole


@pytest.fixture
def prepared(miniature: Miniature, installed: Miniature) -> Miniature:
    """A miniature whose environment is outdated: it has pip, and the next start installs again."""
    shutil.copytree(installed.root / ".venv", miniature.root / ".venv", symlinks=True)
    return miniature


def test_the_first_start_installs_and_the_second_runs_at_once(installed: Miniature) -> None:
    before = installed.builds
    second = installed.run(*WORDS)

    for done in (installed.first, second):
        assert done.returncode == 7, done.stderr
        told = json.loads(done.stdout)
        assert told["argv"] == ["--pull", *WORDS]
        assert told["cwd"] == str(installed.root.parent)
        assert told["prefix"] == str(installed.root / ".venv")
    assert "Installing" in installed.first.stderr
    assert second.stderr == ""
    assert installed.builds == before


def test_the_script_starts_through_a_link_and_without_standard_input(
    installed: Miniature, tmp_path: Path
) -> None:
    link = tmp_path / "assistant"
    link.symlink_to(installed.root / "scripts" / "run")

    done = quietly(["sh", "-c", 'exec "$0" hello <&-', str(link)], environment())

    assert done.returncode == 7
    assert "hello" in done.stdout


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_scripts_run_in_either_shell(installed: Miniature, shell: str) -> None:
    done = quietly([shell, str(installed.root / "scripts" / "run"), "hello"], environment())

    assert (done.returncode, done.stderr) == (7, "")


def test_the_next_start_installs_again_after_new_pins_or_a_move(
    installed: Miniature, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = installed.builds
    (installed.root / "constraints.txt").write_text("six==1.16.0\n")
    repinned = installed.run()
    installed.root = installed.root.rename(tmp_path_factory.mktemp("moved") / "elsewhere")
    moved = installed.run()

    assert installed.builds == before + 2
    for done in (repinned, moved):
        assert done.returncode == 7, done.stderr
        assert "Creating .venv" not in done.stderr
    assert json.loads(moved.stdout)["prefix"] == str(installed.root / ".venv")


def test_the_next_start_recovers_from_a_killed_install(prepared: Miniature) -> None:
    (prepared.root / "hang").touch()
    process = prepared.start()
    wait_for(lambda: prepared.builds == 1, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (prepared.root / "hang").unlink()
    assert (prepared.root / ".venv" / ".installing").exists()

    done = prepared.run("x")

    assert done.returncode == 7, done.stderr
    assert "Creating .venv" in done.stderr
    assert not (prepared.root / ".venv.lock").exists()


def test_ctrl_c_ends_an_install_at_once(prepared: Miniature) -> None:
    (prepared.root / "hang").touch()
    process = prepared.start()
    wait_for(lambda: prepared.builds == 1, process)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=30)

    assert process.returncode in (130, -signal.SIGINT)
    assert (prepared.root / ".venv" / ".installing").exists()
    assert not (prepared.root / ".venv.lock").exists()


def test_a_failed_install_is_reported(prepared: Miniature) -> None:
    (prepared.root / "fail").touch()
    failed = prepared.run()

    assert failed.returncode == 1
    assert failed.stdout == ""
    assert "could not be installed" in failed.stderr
    assert "setup.log" in failed.stderr
    assert (prepared.root / ".venv" / ".installing").exists()


def test_two_simultaneous_first_starts_install_only_once(prepared: Miniature) -> None:
    (prepared.root / "hang").touch()
    first = prepared.start("one")
    wait_for(lambda: prepared.builds == 1, first)
    second = prepared.start("two")
    assert second.stderr is not None
    waiting = second.stderr.readline()
    (prepared.root / "hang").unlink()
    ends = [process.communicate(timeout=120) for process in (first, second)]

    assert "waiting" in waiting
    assert (first.returncode, second.returncode) == (7, 7)
    assert '"one"' in ends[0][0]
    assert '"two"' in ends[1][0]
    assert prepared.builds == 1


def wait_for(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def test_a_missing_python_is_reported_with_what_to_install(miniature: Miniature) -> None:
    done = miniature.shell("python_fits() { return 1; }\nset_up run")

    assert done.returncode == 1
    sentence, mend = done.stderr.splitlines()
    assert sentence == "No Python from 3.11 to 3.14 was found."
    assert mend.startswith("→ ")


def test_a_missing_venv_module_is_reported_with_its_package(miniature: Miniature) -> None:
    done = miniature.shell(
        "python_has_venv() { return 1; }\ninstall_packages() { return 1; }\nset_up run"
    )

    assert done.returncode == 1
    version = ".".join(str(part) for part in sys.version_info[:2])
    assert "no venv module" in done.stderr
    assert done.stderr.endswith(f"→ sudo apt-get install python{version}-venv\n")


def test_the_venv_module_is_installed_if_possible(miniature: Miniature) -> None:
    tools = miniature.root / "tools"
    tools.mkdir()
    (tools / "apt-get").write_text("#!/bin/sh\n")
    (tools / "apt-get").chmod(0o755)

    done = miniature.shell(
        'python_has_venv() { [ -e "$root/came" ]; }\n'
        'install_packages() { touch "$root/came"; echo "$2"; }\n'
        'need_python && echo "$python"',
        PATH=f"{tools}:{os.environ['PATH']}",
    )

    package, python = done.stdout.splitlines()
    assert package.startswith("python3.")
    assert package.endswith("-venv")
    assert python == sys.executable


def sound(miniature: Miniature, root: bool, answer: str | None = None) -> tuple[int, str]:
    """Run `want_sound` without PortAudio, with tools that only record how they were called."""
    tools = miniature.root / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("apt-get", "sudo"):
        tool = tools / name
        tool.write_text(f'#!/bin/sh\necho {name} "$@" >>"{miniature.root}/calls.txt"\n')
        tool.chmod(0o755)
    (miniature.root / ".venv").mkdir(exist_ok=True)
    code = (
        f"set -eu\nroot='{miniature.root}'\n. '{miniature.root}/scripts/_setup.sh'\n"
        "has_portaudio() { return 1; }\n"
        f"is_root() {{ return {0 if root else 1}; }}\nwant_sound\n"
    )
    more = {"PATH": f"{tools}:{os.environ['PATH']}"}
    if answer is None:
        done = quietly(["sh", "-c", code], environment(**more))
        return done.returncode, done.stderr
    return at_terminal(["sh", "-c", code], environment(**more), answer)


def at_terminal(command: list[str], variables: dict[str, str], answer: str) -> tuple[int, str]:
    """Run a command at a terminal at which `answer` was typed; returns its code and output."""
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    process = subprocess.Popen(command, env=variables, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    told = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # on Linux, the other side was closed
            break
        if not piece:
            break
        told += piece
    os.close(ours)
    return process.wait(), told.decode()


def calls(miniature: Miniature) -> str:
    log = miniature.root / "calls.txt"
    return log.read_text() if log.exists() else ""


def test_portaudio_is_installed_for_root_without_asking(miniature: Miniature) -> None:
    code, told = sound(miniature, root=True)

    assert code == 0
    assert "Installing PortAudio" in told
    assert calls(miniature) == "apt-get install -y --no-install-recommends libportaudio2\n"


def test_without_a_terminal_the_command_is_shown_but_nothing_is_asked(miniature: Miniature) -> None:
    code, told = sound(miniature, root=False)

    assert code == 0
    assert "sudo apt-get install -y libportaudio2" in told
    assert "without sound" in told
    assert calls(miniature) == ""
    assert sound(miniature, root=False) == (0, "")


@pytest.mark.parametrize("answer", ["n", "", "q"])
def test_if_declined_the_start_continues_without_sound(miniature: Miniature, answer: str) -> None:
    code, told = sound(miniature, root=False, answer=answer)

    assert code == 0
    assert "Run this now?" in told
    assert "without sound" in told
    assert calls(miniature) == ""


def test_the_shown_command_is_run_if_the_user_agrees(miniature: Miniature) -> None:
    code, told = sound(miniature, root=False, answer="y")

    assert code == 0
    assert "without sound" not in told
    assert "sudo apt-get install -y" in calls(miniature)
