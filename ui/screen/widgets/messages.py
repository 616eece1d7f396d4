"""What parts of the screen tell the whole of it."""

from textual.message import Message

from assistant.errors import AssistantError
from assistant.settings import Loaded


class ErrorOccurred(Message):
    """Something that was asked for could not be done."""

    def __init__(self, error: AssistantError) -> None:
        super().__init__()
        self.error = error


class OpenTurn(Message):
    """Show a turn of this conversation with its context."""

    def __init__(self, turn: int) -> None:
        super().__init__()
        self.turn = turn


class OpenMemory(Message):
    """Show a memory with all that is known of it."""

    def __init__(self, memory: str) -> None:
        super().__init__()
        self.memory = memory


class SettingsChanged(Message):
    """Settings were saved, or the assistant was started anew with them."""

    def __init__(self, loaded: Loaded, *, restarted: bool) -> None:
        super().__init__()
        self.loaded = loaded
        self.restarted = restarted
