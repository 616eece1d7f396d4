"""Creates the parts of a running assistant according to the settings."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.compose.engines import chooses_model, load_models
    from assistant.compose.idle import open_idle_admin, open_idle_scheduler
    from assistant.compose.memory import build_rekeying, open_command_memory
    from assistant.compose.plan import SessionPlan
    from assistant.compose.state import open_state_requests
else:
    __getattr__ = exports(__name__)

__all__ = [
    "SessionPlan",
    "build_rekeying",
    "chooses_model",
    "load_models",
    "open_command_memory",
    "open_idle_admin",
    "open_idle_scheduler",
    "open_state_requests",
]
