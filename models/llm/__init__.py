"""Language models run by llama.cpp (`llama`, which restarts the engine's process if it dies), by
MLX, or by a server with OpenAI's HTTP interface."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from models.llm.lazy import LazyLanguageModel
    from models.llm.llama import LlamaCpp
    from models.llm.mlx import MlxModel, repository
    from models.llm.openai_http import OpenAICompatible
    from models.llm.special_tokens import without_special_tokens
else:
    __getattr__ = exports(__name__)

__all__ = [
    "LazyLanguageModel",
    "LlamaCpp",
    "MlxModel",
    "OpenAICompatible",
    "repository",
    "without_special_tokens",
]
