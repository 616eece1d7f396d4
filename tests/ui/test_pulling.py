"""What a start downloads."""

from pathlib import Path

from assistant.settings import Settings
from models import catalogue
from models.download.cache import ModelStore
from models.hardware import Hardware
from models.selection.profiles import SMALL, TINY, Choice, Profile
from models.selection.requested import ModelSelection, wanted_models


def wanted(profile: Profile, place: Path, **memory: str) -> list[str]:
    machine = Hardware(8 << 30, 2, apple_silicon=False)
    shop = ModelSelection(
        ModelStore(place, catalogue.read()), machine, Choice(profile, "", (profile.llm,))
    )
    return wanted_models(Settings.model_validate({"memory": memory}), shop)


def test_both_encoders_are_wanted_where_there_are_two_and_a_named_one_alone(tmp_path: Path) -> None:
    assert wanted(TINY, tmp_path) == list(TINY.models)
    assert wanted(SMALL, tmp_path)[-2:] == ["all-minilm-l6-v2", "all-mpnet-base-v2"]
    alone = wanted(SMALL, tmp_path, encoder="all-minilm-l6-v2")
    assert "all-mpnet-base-v2" not in alone
    assert wanted(SMALL, tmp_path, encoder=str(tmp_path))[-1] != str(tmp_path)
