"""Messages from parts of the screen to the whole."""

from textual.message import Message

from assistant.errors import AssistantError
from assistant.settings import Loaded


class ErrorOccurred(Message):
    """Something the user asked for failed."""

    def __init__(self, error: AssistantError) -> None:
        super().__init__()
        self.error = error


class OpenTurn(Message):
    """Show a turn of this conversation with its context."""

    def __init__(self, turn: int) -> None:
        super().__init__()
        self.turn = turn


class OpenMemory(Message):
    """Show a memory in full."""

    def __init__(self, memory: str) -> None:
        super().__init__()
        self.memory = memory


class SettingsChanged(Message):
    """Settings were saved, or the assistant was restarted with them."""

    def __init__(self, loaded: Loaded, *, restarted: bool) -> None:
        super().__init__()
        self.loaded = loaded
        self.restarted = restarted
