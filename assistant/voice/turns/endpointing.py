"""Decides when speech begins, pauses and resumes, and when the user's turn is over.

Time is counted in windows of audio. No clock, model or pipecat is needed here. Two checks find out
whether the user has finished. Smart Turn judges the sound, and this module judges the words. E.g.
"To lock the conference" may sound finished, but its words are not. The lists of words contain only
words that hardly ever end a turn.
"""

import re
from enum import Enum, auto

from assistant.settings import Turn

WINDOW = 512
"""Number of samples in a window of Silero, at 16 kHz."""
WINDOW_S = WINDOW / 16_000
RELEASE = 0.35
"""Minimum probability of a voice while speech goes on. It is low because words may end softly."""
LONGEST_GAP_S = 2 * WINDOW_S
"""Maximum length of a gap in the voice before speech counts as begun, in seconds."""
ROUNDING_S = 1e-9
"""Tolerance for rounding errors in sums of seconds."""

_ARTICLES = "a an the my your his our their its every"
_PREPOSITIONS = "of at into onto from with without between during toward towards against as to"
_CONJUNCTIONS = "and or but nor because although though unless until whereas than if whether"
_BEGINNINGS = "is are was were am be been i'm you're he's she's it's we're they're i'll gonna wanna"
_NAMING = "called named currently um uh er erm"
_NO_END = frozenset(
    " ".join((_ARTICLES, _PREPOSITIONS, _CONJUNCTIONS, _BEGINNINGS, _NAMING)).split(" ")
)
_NO_QUESTION_END = frozenset(f"{_ARTICLES} {_CONJUNCTIONS}".split(" "))
"""Words that can't end a question either. Other words in `_NO_END` can, e.g. "from" in "Who is it
from?"."""
_OPENERS = frozenset(("if", "although", "though", "because", "unless", "while", "whereas", "once"))
_INFINITIVE = re.compile(
    r"to (?!(?:me|you|him|her|it|us|them|the|a|an|my|your|this|that)\b)\w+ \w+"
)
_MAIN_CLAUSE_AFTER = re.compile(r",\s*\w+\s+\w+")
LONGEST_OPENING = 14
"""Maximum number of words in a sentence without a main clause. A longer sentence probably has one,
even if it has no comma."""


class Completeness(Enum):
    """Whether words form a complete sentence."""

    FINISHED = auto()
    """The words end like a sentence."""
    OPEN = auto()
    """The words may be complete or not, e.g. "nineteen eighty"."""
    DANGLING = auto()
    """More words must follow."""


def completeness_of(text: str, language: str = "en") -> Completeness:
    """Judge how complete a text from the recogniser is."""
    stripped = text.strip()
    if stripped.endswith(("...", "…", ",", "-", "–", "—", ":")):
        return Completeness.DANGLING
    ends_sentence = stripped.endswith((".", "!", "?", "。", "！", "？"))
    if language in ("en", "auto") and _dangles(stripped):
        return Completeness.DANGLING
    return Completeness.FINISHED if ends_sentence else Completeness.OPEN


def _dangles(text: str) -> bool:
    words = re.findall(r"[\w']+", text.lower().replace("’", "'"))
    if len(words) < 2:
        return False
    question = text.endswith("?")
    if words[-1] in (_NO_QUESTION_END if question else _NO_END):
        return True
    if question or len(words) > LONGEST_OPENING or _MAIN_CLAUSE_AFTER.search(text):
        return False
    return words[0] in _OPENERS or _INFINITIVE.match(" ".join(words)) is not None


class SpeechChange(Enum):
    """A change in the user's speech."""

    STARTED = auto()
    """A voice was heard for `start_s` seconds."""
    PAUSED = auto()
    """No voice was heard for `hint_s` seconds, so the turn may be over."""
    RESUMED = auto()
    """A voice is heard again after a pause."""


class Endpointer:
    """Detects speech and its pauses in successive windows, and decides when a turn is over."""

    def __init__(self, settings: Turn) -> None:
        self._settings = settings
        self.reset()

    def reset(self) -> None:
        """Wait for the next turn, after the last one has ended or was abandoned."""
        self.speaking = False
        self.silence_s = 0.0
        self._voice_s = self._gap_s = 0.0

    @property
    def sensing(self) -> bool:
        """Whether there may be a voice that has not lasted long enough to count as speech."""
        return self._voice_s > 0 and not self.speaking

    def feed(self, probability: float) -> SpeechChange | None:
        """Process the probability of a voice in the next window. Return the change in the user's
        speech, if any."""
        if not self.speaking:
            return self._await_speech(probability)
        hint_s = self._settings.hint_s
        before, self.silence_s = self.silence_s, self.silence_s + WINDOW_S
        paused = before + ROUNDING_S >= hint_s
        if probability >= RELEASE:
            self.silence_s = 0.0
            return SpeechChange.RESUMED if paused else None
        pauses = not paused and self.silence_s + ROUNDING_S >= hint_s
        return SpeechChange.PAUSED if pauses else None

    def _await_speech(self, probability: float) -> SpeechChange | None:
        if probability >= self._settings.vad_confidence:
            self._voice_s += WINDOW_S
            self._gap_s = 0.0
            self.speaking = self._voice_s + ROUNDING_S >= self._settings.start_s
            return SpeechChange.STARTED if self.speaking else None
        self._gap_s += WINDOW_S
        if self._gap_s > LONGEST_GAP_S + ROUNDING_S:
            self._voice_s = 0.0
        return None

    def turn_is_over(self, sounds_finished: bool | None, completeness: Completeness | None) -> bool:
        """Whether the silence has lasted long enough to end the turn.

        The turn ends after `stop_s` if it sounds finished and its words are not dangling. It ends
        after `doubtful_wait_s` if it sounds finished or its words are complete. It ends after
        `incomplete_wait_s` in any case.

        Args:
            sounds_finished: the result of Smart Turn; None if it is not known yet.
            completeness: the result of `completeness_of`; None if it is not known yet.
        """
        silence_s, settings = self.silence_s + ROUNDING_S, self._settings
        if silence_s >= settings.incomplete_wait_s:
            return True
        if silence_s >= settings.doubtful_wait_s:
            return bool(sounds_finished) or completeness is Completeness.FINISHED
        unfinished = completeness in (None, Completeness.DANGLING)
        return silence_s >= settings.stop_s and bool(sounds_finished) and not unfinished
