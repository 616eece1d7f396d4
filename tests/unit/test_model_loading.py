"""The engine that a name in the settings selects, and the error if it selects none."""

import asyncio
from pathlib import Path

import pytest

from assistant.compose.engines import load_models
from assistant.errors import AssistantError, ModelMissing, ModelUnavailable, SettingsError
from assistant.event_bus import EventBus
from assistant.paths import Home
from assistant.settings import Settings
from models.selection import select_models


def loading(home: Home, **sections: object) -> None:
    settings = Settings.model_validate({"general": {"profile": "tiny"}, **sections})
    selection = select_models(settings)
    asyncio.run(load_models(selection, home, settings, EventBus(), hears=False, speaks=False))


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSISTANT_MODELS_CACHE", str(tmp_path / "models"))


@pytest.mark.parametrize(
    ("sections", "kind", "words"),
    [
        ({}, ModelMissing, "not on this machine"),
        ({"stt": {"model": "/no/such/folder"}}, ModelMissing, "neither in the catalogue nor"),
        ({"stt": {"model": "piper-en-us-joe-medium"}}, SettingsError, "not a model for the role"),
    ],
)
def test_a_name_without_a_usable_model_is_reported_in_one_sentence(
    home: Home, sections: dict[str, object], kind: type[AssistantError], words: str
) -> None:
    with pytest.raises(kind, match=words) as refused:
        loading(home, **sections)
    assert refused.value.mend


def test_an_unavailable_repository_is_reported_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    from models.llm.mlx import repository

    with pytest.raises(ModelUnavailable, match="not on this machine"):
        repository("mlx-community/Nothing-4bit")
