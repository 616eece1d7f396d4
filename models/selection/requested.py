"""Finds the models that the settings ask for."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assistant.errors import ModelMissing, SettingsError
from assistant.paths import models_cache
from assistant.settings import Settings
from models import catalogue
from models.catalogue import Engine, ModelRole
from models.download.cache import ModelStore
from models.hardware import Hardware, detect
from models.selection.machine_records import Notes, notes_in
from models.selection.profiles import Choice, Profile, choose_profile


@dataclass(frozen=True, slots=True)
class ModelSelection:
    """The model store, this machine's hardware, and the models chosen for it."""

    store: ModelStore
    hardware: Hardware
    choice: Choice

    @property
    def profile(self) -> Profile:
        return self.choice.profile

    @property
    def reason(self) -> str:
        return self.choice.reason

    @property
    def notes(self) -> Notes:
        return notes_in(self.store.cache)

    def knows(self, name: str) -> bool:
        """Return whether `name` is in the catalogue."""
        return name in self.store.catalogue.models


def select_models(settings: Settings) -> ModelSelection:
    """Choose the models of the profile in the settings. Blocking; needs no network.

    Raises:
        SettingsError: there is no such profile.
    """
    store = ModelStore(models_cache(), catalogue.read())
    hardware = detect()
    choice = choose_profile(settings.general.profile, hardware, store)
    return ModelSelection(store, hardware, choice)


def engine_for(shop: ModelSelection, settings: Settings, wanted: str) -> str:
    """Return the engine for the named model: `openai`, `mlx` or `llama.cpp`."""
    if settings.llm.endpoint is not None:
        return "openai"
    if shop.knows(wanted):
        return "mlx" if shop.store.catalogue.get(wanted).engine is Engine.MLX else "llama.cpp"
    path = Path(wanted).expanduser()
    return "mlx" if path.is_dir() or not path.suffix else "llama.cpp"


def model_path(
    shop: ModelSelection, wanted: str, role: ModelRole, find: Callable[[ModelStore, str], Path]
) -> Path:
    """Return the path of a model.

    Args:
        wanted: a name in the catalogue, or the path of the user's own file or folder.
        find: returns the path of a model in the store.

    Raises:
        SettingsError: the model is for another role.
        ModelMissing: there is no such model.
    """
    if shop.knows(wanted):
        if shop.store.catalogue.get(wanted).role is not role:
            raise SettingsError(
                f"{wanted} is not a model for the role `{role.value}`.",
                mend="assistant models list",
            )
        return find(shop.store, wanted)
    path = Path(wanted).expanduser()
    if not path.exists():
        raise ModelMissing(
            f"There is no model {wanted}: it is neither in the catalogue nor a file.",
            mend="assistant models list",
        )
    return path


def wanted_models(settings: Settings, shop: ModelSelection) -> list[str]:
    """Return the names of the catalogue's models that the settings need on this machine.

    The user's own files and servers are left out, because they need no download.
    """
    served = settings.llm.endpoint is not None or settings.llm.engine == "openai"
    named = (
        settings.stt.model or shop.profile.stt,
        None if served else settings.llm.model or shop.profile.llm,
        settings.tts.model or shop.profile.tts,
        *([settings.memory.encoder] if settings.memory.encoder else shop.profile.encoders),
    )
    return [name for name in named if name is not None and name in shop.store.catalogue.models]
