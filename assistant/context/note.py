"""A memory in the form that the prompt needs."""

from dataclasses import dataclass
from datetime import datetime

USER, ASSISTANT = "user", "assistant"


@dataclass(frozen=True, slots=True)
class Note:
    """What the prompt needs of a memory. `said` may be in any time zone; `superseded_by` is the id
    of the note that now holds instead. One that is not `near` is not worth its tokens."""

    text: str
    id: str = ""
    said: datetime | None = None
    speaker: str = USER
    kind: str = "exchange"
    superseded_by: str | None = None
    near: bool = True
