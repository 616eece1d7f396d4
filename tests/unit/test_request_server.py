"""How other processes reach a running assistant."""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from assistant.ipc import Request, Row, send_request
from assistant.ipc.client import RemoteError
from assistant.ipc.server import RequestServer

Serve = Callable[..., RequestServer]


def echo(request: Request) -> Iterator[Row]:
    yield {"heard": request.get("words")}


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Opens servers that echo, and closes them at the end."""
    with ExitStack() as stack:

        def serve(folder: Path, **options: bool) -> RequestServer:
            return stack.enter_context(closing(RequestServer(folder, echo, **options)))

        yield serve


def answer(folder: Path, words: str = "hello") -> list[Row] | None:
    answered = send_request(folder, {"words": words})
    return None if answered is None else list(answered)


HELLO = [{"heard": "hello"}]


@pytest.mark.parametrize("unix", [True, False])
def test_a_server_answers_until_it_is_closed(tmp_path: Path, serve: Serve, unix: bool) -> None:
    folder = tmp_path / "door"
    assert answer(folder) is None
    server = serve(folder, unix=unix)
    assert answer(folder, "ü" * 300_000) == [{"heard": "ü" * 300_000}]
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "address").stat().st_mode & 0o077 == 0
    server.close()
    server.close()
    assert answer(folder) is None
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["home", "deep" * 30])
@pytest.mark.parametrize("unix", [True, False])
def test_a_copy_of_a_home_does_not_lead_to_the_original_home(
    tmp_path: Path, serve: Serve, name: str, unix: bool
) -> None:
    serve(tmp_path / name / "door", unix=unix)
    shutil.copytree(tmp_path / name, tmp_path / "copy", ignore=lambda *_: ["socket"])
    assert answer(tmp_path / "copy" / "door") is None
    serve(tmp_path / "copy" / "door", unix=unix)
    assert answer(tmp_path / name / "door") == HELLO, "the original is not affected"


def test_a_home_with_a_long_path_can_be_reached_too(tmp_path: Path, serve: Serve) -> None:
    folder = tmp_path / ("deep" * 30) / ("é" * 40)
    server = serve(folder)
    assert answer(folder) == HELLO
    path = Path(json.loads((folder / "address").read_text())["path"])
    assert path.parent.stat().st_mode & 0o077 == 0
    server.close()
    assert not path.parent.exists()


@pytest.mark.parametrize("name", ["door", "deep" * 40])
def test_the_leftovers_of_a_killed_assistant_do_no_harm(
    tmp_path: Path, serve: Serve, name: str
) -> None:
    folder = tmp_path / name
    program = (
        "import os, sys; from pathlib import Path\n"
        "from assistant.ipc.server import RequestServer\n"
        "RequestServer(Path(sys.argv[1]), lambda _: iter(())); os._exit(9)"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(folder)], check=False)
    assert killed.returncode == 9
    left = Path(json.loads((folder / "address").read_text())["path"])
    assert left.exists()
    assert answer(folder) is None
    server = serve(folder)
    assert answer(folder) == HELLO
    server.close()
    assert not left.exists()


def test_a_port_refuses_requests_without_the_secret(tmp_path: Path, serve: Serve) -> None:
    serve(tmp_path, unix=False)
    file = tmp_path / "address"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"secret": "guessed"}))
    with pytest.raises(RemoteError, match="secret"):
        answer(tmp_path)


def test_a_socket_in_a_folder_that_others_can_enter_is_not_trusted(
    tmp_path: Path, serve: Serve
) -> None:
    serve(tmp_path / "door")
    (tmp_path / "door").chmod(0o755)
    assert answer(tmp_path / "door") is None


def test_clients_that_disconnect_or_talk_nonsense_do_no_harm(tmp_path: Path, serve: Serve) -> None:
    serve(tmp_path / "door")
    for sent in (b"", b"nonsense\n", b"[1]\n", b"\xff\xfe\n"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(tmp_path / "door" / "socket"))
            client.sendall(sent)
    assert answer(tmp_path / "door") == HELLO


def test_a_request_that_fails_is_reported(tmp_path: Path) -> None:
    def fail(_: Request) -> Iterator[Row]:
        yield {"first": 1}
        raise RuntimeError("the moon fell")

    with closing(RequestServer(tmp_path, fail)):
        answered = send_request(tmp_path, {})
        assert answered is not None
        assert next(answered) == {"first": 1}
        with pytest.raises(RemoteError, match="RuntimeError") as refused:
            next(answered)
    assert refused.value.exit_code == 70
