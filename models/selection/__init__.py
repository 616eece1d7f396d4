"""Chooses the models that suit this machine and the settings."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from models.selection.benchmark import Benchmark
    from models.selection.machine_records import CLAUSE_TOKENS, FIRST_CLAUSE_S, SPEECH_TOKENS_PER_S
    from models.selection.profiles import (
        PROFILE_NAMES,
        SMALL,
        TINY,
        Profile,
        choose_profile,
        pull_choice,
    )
    from models.selection.requested import (
        ModelSelection,
        engine_for,
        model_path,
        select_models,
        wanted_models,
    )
else:
    __getattr__ = exports(__name__)

__all__ = [
    "CLAUSE_TOKENS",
    "FIRST_CLAUSE_S",
    "PROFILE_NAMES",
    "SMALL",
    "SPEECH_TOKENS_PER_S",
    "TINY",
    "Benchmark",
    "ModelSelection",
    "Profile",
    "choose_profile",
    "engine_for",
    "model_path",
    "pull_choice",
    "select_models",
    "wanted_models",
]
