"""The doctor's network audit, tested with libraries planted to make connections."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assistant.settings import Settings
from ui.commands.doctor.checks import CheckStatus
from ui.commands.doctor.network_checks import judge
from ui.network_audit.audit import Attempt, NetworkAudit
from ui.network_audit.conversation import converse_under_watch

pytestmark = [pytest.mark.real, pytest.mark.linux]

IN_PYTHON = """
import socket

def phone_home():
    try:
        socket.getaddrinfo("collector.invalid", 443)
    except OSError:
        return True
"""
IN_C = """
#include <netdb.h>
#include <stddef.h>
int phone_home(void) { struct addrinfo *r = 0; return getaddrinfo("x.invalid", "443", NULL, &r); }
"""
BOTH = """
import ctypes, socket, subprocess, sys
import planted
planted.phone_home()
ctypes.CDLL(sys.argv[1]).phone_home()
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
subprocess.run([sys.executable, "-c", "import planted; planted.phone_home()"], check=True)
sys.exit(7)
"""
THEN_SERVE = """
import planted, runpy
planted.phone_home()
runpy.run_module("ui.session.assistant_worker", None, "__main__")
"""


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on Python's path with a library that resolves a host name."""
    (tmp_path / "planted.py").write_text(IN_PYTHON)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def test_planted_libraries_are_named_and_loopback_connections_are_not_reported(
    planted: Path,
) -> None:
    (planted / "planted.c").write_text(IN_C)
    library = planted / "libreporter.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, planted / "planted.c"], check=True)
    audit, native = NetworkAudit(planted), [0]
    for run in (1, 2):  # attempts of the first run are still reported after the second
        command = audit.watched([sys.executable, "-c", BOTH, str(library)])
        done = subprocess.run(command, env=audit.environment(os.environ), check=False)
        attempts = audit.attempts()
        assert (done.returncode, audit.blind_spot()) == (7, None)
        assert Attempt("planted", "collector.invalid", 2 * run) in attempts
        assert {each.library for each in attempts} == {"planted", "libreporter.so"}
        in_c = [each for each in attempts if each.library == "libreporter.so"]
        assert all(each.target.startswith("the name server ") for each in in_c)
        native.append(sum(each.times for each in in_c))
    assert native[0] < native[1] < native[2]


async def test_a_library_that_resolves_a_name_once_in_a_conversation_is_named(
    planted: Path, scripted: dict[str, str]
) -> None:
    llm = {"endpoint": scripted["ASSISTANT_LLM__ENDPOINT"]}
    settings = Settings.model_validate({"general": {"profile": "tiny"}, "llm": llm})

    watched = await converse_under_watch(settings, (sys.executable, "-c", THEN_SERVE), lasting_s=0)

    assert watched.blind_spot is None
    assert watched.attempts == [Attempt("planted", "collector.invalid", 2)]  # once a session
    assert judge(watched).verdict is CheckStatus.BAD
