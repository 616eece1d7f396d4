"""What the assistant said last, so that it can say it again."""

from assistant.language.sentences import sentences


class LastSaid:
    """The last remark, or what the user heard of the last answer if that came later.

    The text is dropped when anything is hidden. A text that is said later may still quote what is
    hidden ("Forgotten: …"), so it is dropped at the purge, unless it surely quotes nothing hidden.
    """

    def __init__(self) -> None:
        self.text = ""
        self.hides = 0
        """Number of times that something was hidden so far."""
        self._lasts = False

    def say(self, text: str, *, lasts: bool) -> None:
        """Note a text. `lasts` tells whether it surely quotes nothing that is hidden."""
        self.text, self._lasts = text, lasts

    @property
    def question(self) -> str:
        """The question with which the text ends, or an empty string."""
        found = sentences(self.text)
        return found[-1].text if found and found[-1].text.endswith("?") else ""

    def hide(self) -> None:
        self.hides += 1
        self.text = ""

    def purged(self) -> None:
        if not self._lasts:
            self.text = ""
