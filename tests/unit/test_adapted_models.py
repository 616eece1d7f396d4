"""The models for single tasks that a session uses; without one, it is none, and no error."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.compose.adapted_models import WITHOUT, find
from assistant.errors import ModelMissing
from assistant.settings import Settings
from models.catalogue import Catalogue
from models.selection import ModelSelection, select_models

NAME = "all-minilm-l6-v2"
ADAPTERS = ("intents", "slots", "reranker", "turns")
Build = Callable[[ModelSelection, Settings], object | None]


def settings(language: str) -> Settings:
    return Settings.model_validate(
        {"general": {"profile": "tiny"}, "persona": {"language": language}}
    )


def empty_cache(folder: Path, chosen: Settings, *, adapted: bool = True) -> ModelSelection:
    """An empty cache of the shipped models, in which the fast encoder has its adapters or none."""
    found = select_models(chosen)
    shipped = found.store.catalogue.models
    changed = shipped[NAME].model_copy(update={} if adapted else dict.fromkeys(ADAPTERS))
    catalogue = Catalogue({**shipped, NAME: changed})
    return replace(found, store=replace(found.store, cache=folder, catalogue=catalogue))


@pytest.mark.parametrize("build", WITHOUT)
@pytest.mark.parametrize(("language", "adapted"), [("de", True), ("en", False)])
def test_without_a_model_for_the_language_none_is_looked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, build: Build, language: str, adapted: bool
) -> None:
    chosen = settings(language)
    selection = empty_cache(tmp_path, chosen, adapted=adapted)
    assert build(selection, chosen) is None
    assert find(build, selection, chosen) is None
    assert caplog.text == ""


@pytest.mark.parametrize(("build", "told"), WITHOUT.items())
@pytest.mark.parametrize("language", ["en", "en-GB"])
def test_a_missing_model_is_logged_and_costs_only_its_task(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, build: Build, told: str, language: str
) -> None:
    english = settings(language)
    selection = empty_cache(tmp_path, english)
    with pytest.raises(ModelMissing) as caught:
        build(selection, english)
    assert caught.value.mend == f"assistant models pull {NAME}"
    assert find(build, selection, english) is None
    assert told in caplog.text
