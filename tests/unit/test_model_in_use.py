"""Which language model the assistant says that it runs on."""

import pytest

from assistant.compose.engines import model_in_use
from assistant.paths import Home
from assistant.settings import Settings
from assistant.skills import ModelInUse
from models.selection import select_models
from tests.support.scripted_model import ScriptedModel


def in_use(home: Home, name: str, **sections: object) -> ModelInUse:
    settings = Settings.model_validate({"general": {"profile": "tiny"}, **sections})
    llm = ScriptedModel()
    llm.name = name
    return model_in_use(select_models(settings), settings, home, llm)


def test_a_model_of_the_catalogue_has_its_title(home: Home) -> None:
    found = in_use(home, "qwen2.5-coder-1.5b-instruct")
    assert found == ModelInUse("Qwen2.5-Coder 1.5B Instruct")
    assert found.local


def test_the_users_own_file_has_its_name(home: Home) -> None:
    assert in_use(home, "my-model", llm={"model": "/models/my-model.gguf"}).title == "my-model"


@pytest.mark.parametrize(
    ("endpoint", "local"),
    [("http://127.0.0.1:11434/v1", True), ("https://user@example.org:8/v1", False)],
)
def test_a_server_is_named_without_the_rest_of_its_address(
    home: Home, endpoint: str, local: bool
) -> None:
    found = in_use(home, "llama3", llm={"endpoint": endpoint})
    assert (found.title, found.local) == ("llama3", local)
    assert found.server in ("127.0.0.1", "example.org")
    assert in_use(home, "default", llm={"endpoint": endpoint}).title == ""


def test_memories_in_an_object_store_are_on_another_computer(home: Home) -> None:
    memory = {"store": "s3://bucket/path"}
    assert in_use(home, "my-model", memory=memory).store
    assert not in_use(home, "my-model", memory=memory | {"enabled": False}).store
