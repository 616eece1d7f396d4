"""Which model a session judges memories with; without one, it is none, and no error."""

from dataclasses import replace
from pathlib import Path

import pytest

from assistant.compose.engines import build_reranker, find_reranker
from assistant.errors import ModelMissing
from assistant.settings import Settings
from models.catalogue import Catalogue, LoraAdapter
from models.selection import ModelSelection, select_models

NAME = "all-minilm-l6-v2"


def settings(language: str) -> Settings:
    return Settings.model_validate(
        {"general": {"profile": "tiny"}, "persona": {"language": language}}
    )


def empty_cache(folder: Path, chosen: Settings, adapter: LoraAdapter | None) -> ModelSelection:
    """An empty cache of the shipped models, in which the fast encoder has this adapter."""
    found = select_models(chosen)
    shipped = found.store.catalogue.models
    changed = shipped[NAME].model_copy(update={"reranker": adapter})
    catalogue = Catalogue({**shipped, NAME: changed})
    return replace(found, store=replace(found.store, cache=folder, catalogue=catalogue))


ADAPTER = LoraAdapter(folder=f"{NAME}-reranker", sha256="a" * 64)


@pytest.mark.parametrize(("language", "adapter"), [("de", ADAPTER), ("en", None)])
def test_without_a_model_for_the_language_none_is_looked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, language: str, adapter: LoraAdapter | None
) -> None:
    chosen = settings(language)
    selection = empty_cache(tmp_path, chosen, adapter)
    assert build_reranker(selection, chosen) is None
    assert find_reranker(selection, chosen) is None
    assert caplog.text == ""


@pytest.mark.parametrize("language", ["en", "en-GB"])
def test_a_missing_model_is_logged_and_costs_only_the_judging(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, language: str
) -> None:
    english = settings(language)
    selection = empty_cache(tmp_path, english, ADAPTER)
    with pytest.raises(ModelMissing) as caught:
        build_reranker(selection, english)
    assert caught.value.mend == f"assistant models pull {NAME}"
    assert find_reranker(selection, english) is None
    assert "memories can't be judged by whether they answer a question" in caplog.text
