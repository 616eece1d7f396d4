"""Which model a session fills in forms with; without one, it is none, and no error."""

from dataclasses import replace
from pathlib import Path

import pytest

from assistant.compose.engines import build_slot_reader, find_slot_reader
from assistant.errors import ModelMissing
from assistant.settings import Settings
from models.selection import ModelSelection, select_models


def settings(language: str) -> Settings:
    return Settings.model_validate(
        {"general": {"profile": "tiny"}, "persona": {"language": language}}
    )


def empty_cache(folder: Path, chosen: Settings) -> ModelSelection:
    found = select_models(chosen)
    return replace(found, store=replace(found.store, cache=folder))


def test_in_another_language_no_model_is_looked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    german = settings("de")
    assert build_slot_reader(empty_cache(tmp_path, german), german) is None
    assert find_slot_reader(empty_cache(tmp_path, german), german) is None
    assert caplog.text == ""


@pytest.mark.parametrize("language", ["en", "en-GB"])
def test_a_missing_model_is_logged_and_costs_only_the_filling(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, language: str
) -> None:
    english = settings(language)
    with pytest.raises(ModelMissing) as caught:
        build_slot_reader(empty_cache(tmp_path, english), english)
    assert caught.value.mend == "assistant models pull all-minilm-l6-v2"
    assert find_slot_reader(empty_cache(tmp_path, english), english) is None
    assert "forms aren't filled in from what is said" in caplog.text
