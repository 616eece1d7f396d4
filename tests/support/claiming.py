"""A classifier that takes clauses with certain words for claims."""

import threading
import time

from assistant.errors import ModelFailed
from models.interfaces import ClassifiedText


class ClaimingWords:
    """Takes text that contains one of these phrases for a claim.

    Args:
        faint: phrases that may be a claim, if the user has asked for an act.
        asking: phrases of the user that may ask for an act, but not surely enough for a command.
    """

    def __init__(
        self,
        *phrases: str,
        faint: tuple[str, ...] = (),
        asking: tuple[str, ...] = (),
        takes_s: float = 0.0,
        fails: bool = False,
    ) -> None:
        self._phrases = phrases
        self._faint = faint
        self._asking = asking
        self._takes_s = takes_s
        self._fails = fails
        self.asked: list[str] = []
        self.thread = ""
        """The name of the thread that asked last."""

    def load(self) -> None:
        """Nothing to load."""

    def classify(self, text: str) -> ClassifiedText:
        self.asked.append(text)
        self.thread = threading.current_thread().name
        if self._fails:
            raise ModelFailed("It is not loaded.")
        time.sleep(self._takes_s)
        claims, faint, asks = (
            any(phrase in text for phrase in phrases)
            for phrases in (self._phrases, self._faint, self._asking)
        )
        claim = 0.95 if claims else 0.1 if faint else 0.001
        return ClassifiedText({"claim": claim, "act": 0.25 if asks else 0.001})
