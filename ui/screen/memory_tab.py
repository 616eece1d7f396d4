"""All memories: look for them, look into them, change and forget them."""

from textual.containers import Container

from ui.session import Session


class MemoryTab(Container):
    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def find(self) -> None:
        """Begin to search."""

    def open(self, memory: str) -> None:
        """Show one memory with all that is known of it."""
