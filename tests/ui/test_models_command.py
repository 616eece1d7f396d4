"""`assistant models …` as a user types it."""

import argparse
import contextlib
import io
import json
import os
import pty
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant.errors import ModelCorrupt, ModelMissing, ModelUnavailable
from assistant.settings import General, Llm, Settings, Stt
from models import catalogue
from models.download.cache import ModelState, ModelStore
from models.download.sources import Transfer
from models.hardware import Hardware
from models.selection import profiles
from models.selection.machine_records import notes_in
from models.selection.profiles import SMALL, STRONG
from models.selection.requested import ModelSelection
from tests.support import small_models
from tests.support.hub_server import Hub, hub_server
from ui.commands import missing_models, models

ROLES = {
    "whisper-tiny.en": ("stt", "faster-whisper"),
    "smollm2-135m-instruct": ("llm", "llama.cpp"),
    "piper-en-us-joe-medium": ("tts", "piper"),
    "all-minilm-l6-v2": ("encoder", "onnx"),
}
LAPTOP = Hardware(16 << 30, 4, apple_silicon=False)


def nothing(_transfer: Transfer) -> None:
    """No preparation."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server({f"{name}/resolve/main/a": name.encode() for name in ROLES}) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path, hub: Hub) -> ModelStore:
    tables = {
        name: small_models.table(
            role=role,
            engine=engine,
            files=small_models.entries({"a": name.encode()}),
            hub={"repo": name, "revision": "main"},
            pieces=None,
        )
        for name, (role, engine) in ROLES.items()
    }
    return ModelStore(
        tmp_path / "cache",
        catalogue.parse(tables),
        prepare=nothing,
        environment={**os.environ, "HF_ENDPOINT": hub.url},
    )


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile")
    parser.add_argument("--json", action="store_true")
    models.add_parser(parser.add_subparsers())
    return parser.parse_args(words)


def run(store: ModelStore, *words: str) -> tuple[int, str]:
    stream = io.StringIO()
    code = models.run(parse(*words), store=store, hardware=LAPTOP, stream=stream)
    return code, stream.getvalue()


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_pulling_a_profile_says_who_served(store: ModelStore, hub: Hub) -> None:
    code, text = run(store, "--profile", "tiny", "models", "pull")

    assert code == 0
    host = hub.url.removeprefix("http://")
    for name in ROLES:
        assert f"{name}: {len(name)} B from {host} in 0 s." in text
    assert text.splitlines()[-1] == "Profile tiny. Small model, as the profile tiny has it."
    assert store.missing(list(ROLES)) == []


def test_pulling_in_json(store: ModelStore, hub: Hub) -> None:
    _, text = run(store, "--json", "models", "pull", "whisper-tiny.en")
    [first] = lines(text)
    _, text = run(store, "--json", "models", "pull", "whisper-tiny.en")
    [second] = lines(text)

    assert first["source"] == hub.url.removeprefix("http://")
    assert first["event"] == "pulled"
    assert (first["bytes"], second["bytes"], second["source"]) == (15, 0, None)


def test_pulling_what_is_whole(store: ModelStore) -> None:
    run(store, "models", "pull", "whisper-tiny.en")

    assert (
        "whisper-tiny.en: already here and intact."
        in run(store, "models", "pull", "whisper-tiny.en")[1]
    )


def test_pulling_what_no_source_has(store: ModelStore, hub: Hub) -> None:
    hub.files = {}

    with pytest.raises(ModelUnavailable, match="could not be downloaded"):
        run(store, "models", "pull", "whisper-tiny.en")


def test_pulling_an_unknown_model(store: ModelStore) -> None:
    with pytest.raises(ModelMissing, match="no model `gpt-9`"):
        run(store, "models", "pull", "gpt-9")


def test_listing(store: ModelStore) -> None:
    run(store, "models", "pull", "whisper-tiny.en")
    code, text = run(store, "models", "list")
    rows = {line.split()[0]: line for line in text.splitlines()}

    assert code == 0
    assert "ready, from 127.0.0.1" in rows["whisper-tiny.en"]
    assert rows["all-minilm-l6-v2"].rstrip().endswith("-")
    assert str(store.cache) in text


def test_listing_in_json(store: ModelStore) -> None:
    run(store, "models", "pull", "whisper-tiny.en")
    (store.cache / ".partial" / "all-minilm-l6-v2").mkdir()
    (store.cache / "whisper-tiny.en" / "a").unlink()
    states = {row["name"]: row["state"] for row in lines(run(store, "--json", "models", "list")[1])}

    assert states == {
        "whisper-tiny.en": "corrupt",
        "smollm2-135m-instruct": "missing",
        "piper-en-us-joe-medium": "missing",
        "all-minilm-l6-v2": "partial",
    }


def test_verifying(store: ModelStore) -> None:
    with pytest.raises(ModelMissing, match="no models on this machine"):
        run(store, "models", "verify")
    run(store, "--profile", "tiny", "models", "pull")
    code, text = run(store, "models", "verify")
    assert code == 0
    assert sorted(line for line in text.splitlines() if "intact" in line) == sorted(
        f"{name}: intact." for name in ROLES
    )

    (store.folder("whisper-tiny.en") / "a").write_bytes(b"another content"[:15])
    code, text = run(store, "models", "verify")
    assert code == ModelCorrupt.exit_code
    expected = "a has a different SHA-256 from the catalogue's. To fix it: assistant models pull"
    assert expected in text
    code, text = run(store, "--json", "models", "verify", "whisper-tiny.en")
    [row] = lines(text)
    assert (code, row["ok"], row["mend"]) == (3, False, "assistant models pull whisper-tiny.en")


def test_removing(store: ModelStore) -> None:
    run(store, "models", "pull", "whisper-tiny.en")
    code, text = run(store, "models", "remove", "whisper-tiny.en")

    assert code == 0
    assert text.startswith("Removed whisper-tiny.en; ")
    assert store.state("whisper-tiny.en") is ModelState.MISSING


def read_all(terminal: int, into: list[bytes]) -> None:
    """Until the other end is closed, which Linux tells by an error and macOS by an end."""
    with contextlib.suppress(OSError):
        while block := os.read(terminal, 4096):
            into.append(block)


def test_a_bar_on_a_terminal(store: ModelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    master, slave = pty.openpty()
    shown: list[bytes] = []
    reader = threading.Thread(target=read_all, args=(master, shown))
    reader.start()
    with os.fdopen(slave, "w") as terminal:
        models.run(
            parse("models", "pull", "whisper-tiny.en"),
            store=store,
            hardware=LAPTOP,
            stream=terminal,
        )
    reader.join()
    os.close(master)

    text = b"".join(shown).decode()
    assert "\x1b[" in text
    assert "whisper-tiny.en: 15 B from 127.0.0.1" in text


@pytest.fixture
def start(store: ModelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a start finds on this machine is the store and `LAPTOP`."""

    def workshop(settings: Settings) -> ModelSelection:
        choice = profiles.choose_profile(settings.general.profile, LAPTOP, store)
        return ModelSelection(store, LAPTOP, choice)

    monkeypatch.setattr(missing_models, "select_models", workshop)


@pytest.mark.usefixtures("start")
def test_a_start_brings_what_is_missing_and_is_silent_when_nothing_is(
    store: ModelStore, hub: Hub
) -> None:
    settings = Settings(general=General(profile="tiny"))
    stream = io.StringIO()
    missing_models.pull_missing(settings, stream)
    assert store.missing(list(ROLES)) == []
    assert "Profile tiny." in stream.getvalue()

    hub.requests.clear()
    stream = io.StringIO()
    missing_models.pull_missing(settings, stream)
    assert (stream.getvalue(), hub.requests) == ("", [])


@pytest.mark.usefixtures("start")
def test_a_start_leaves_to_the_user_what_is_the_users_own(store: ModelStore) -> None:
    settings = Settings(
        general=General(profile="tiny"),
        stt=Stt(model="/a/folder"),
        llm=Llm(endpoint="http://127.0.0.1:1/v1", model="smollm2-135m-instruct"),
    )
    missing_models.pull_missing(settings, io.StringIO())

    assert store.missing(list(ROLES)) == ["whisper-tiny.en", "smollm2-135m-instruct"]


# -- a language model that would suit the machine better ----------------------------------------


LLMS = (SMALL.llm, *STRONG)


@pytest.fixture
def choosing(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> ModelStore:
    """All of the profile `default`, with the smaller language model on the machine."""
    names = [*SMALL.models, *STRONG]
    hub.files = {f"{name}/resolve/main/a": name.encode() for name in names}
    shipped = catalogue.read()
    tables = {
        name: small_models.table(
            role=shipped.get(name).role,
            engine=shipped.get(name).engine,
            title=shipped.get(name).title,
            files=small_models.entries({"a": name.encode()}),
            hub={"repo": name, "revision": "main"},
            pieces=None,
        )
        for name in names
    }
    environment = {**os.environ, "HF_ENDPOINT": hub.url}
    parsed = catalogue.parse(tables)
    store = ModelStore(tmp_path / "choosing", parsed, prepare=nothing, environment=environment)
    store.pull(SMALL.models)
    notes_in(store.cache).add(LAPTOP, stream_rate=30e9)

    def workshop(settings: Settings) -> ModelSelection:
        choice = profiles.choose_profile(settings.general.profile, LAPTOP, store)
        return ModelSelection(store, LAPTOP, choice)

    monkeypatch.setattr(missing_models, "select_models", workshop)
    monkeypatch.setattr(profiles, "stream_rate", lambda _: 30e9)
    hub.requests.clear()
    return store


def test_a_start_brings_the_more_suitable_language_model(choosing: ModelStore) -> None:
    missing_models.pull_missing(Settings(), io.StringIO())

    assert choosing.missing(LLMS) == [STRONG[1]]


def test_a_start_without_a_network_goes_on_and_tries_once_a_day(
    choosing: ModelStore, hub: Hub
) -> None:
    hub.files = {}
    stream = io.StringIO()
    missing_models.pull_missing(Settings(), stream)
    assert f"Continuing with {SMALL.llm}." in stream.getvalue()
    asked = len(hub.requests)
    assert asked > 0
    stream = io.StringIO()
    missing_models.pull_missing(Settings(), stream)

    assert (stream.getvalue(), len(hub.requests)) == ("", asked)


def test_a_model_that_the_settings_name_is_never_replaced(choosing: ModelStore, hub: Hub) -> None:
    missing_models.pull_missing(Settings(llm=Llm(model=SMALL.llm)), io.StringIO())

    assert hub.requests == []


def test_what_is_missing_besides_still_ends_the_start(choosing: ModelStore, hub: Hub) -> None:
    choosing.remove(SMALL.stt)
    hub.files = {}

    with pytest.raises(ModelUnavailable):
        missing_models.pull_missing(Settings(), io.StringIO())
