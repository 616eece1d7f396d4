"""A memory as the prompt takes it."""

from dataclasses import dataclass
from datetime import datetime

USER, ASSISTANT = "user", "assistant"


@dataclass(frozen=True, slots=True)
class Note:
    """What the prompt needs of a memory. `said` is in UTC, or any zone; `superseded_by` names the
    note that holds now; one that is not `near` is not worth its tokens."""

    text: str
    id: str = ""
    said: datetime | None = None
    speaker: str = USER
    kind: str = "exchange"
    superseded_by: str | None = None
    near: bool = True
