"""Decides when speech begins, pauses and resumes, and when the user's turn is over.

Pure logic on audio time: no clock, no model, no pipecat. There are two opinions on whether the user
has finished: that of the sound (Smart Turn) and that of the words, judged here. "To lock the
conference" with a falling tone sounds finished, but its words don't. The lists of words
are short on purpose: a word counts as dangling only if it hardly ever ends a turn.
"""

import re
from enum import Enum, auto

from assistant.settings import Turn

WINDOW = 512
"""Samples per Silero window at 16 kHz."""
WINDOW_S = WINDOW / 16_000
RELEASE = 0.35
"""Minimum probability of a voice for speech to continue: a word's soft end is part of it."""
LONGEST_GAP_S = 2 * WINDOW_S
"""Longest gap, in seconds, in a voice that may be the beginning of speech."""
ROUNDING_S = 1e-9

_ARTICLES = "a an the my your his our their its every"
_PREPOSITIONS = "of at into onto from with without between during toward towards against as to"
_CONJUNCTIONS = "and or but nor because although though unless until whereas than if whether"
_BEGINNINGS = "is are was were am be been i'm you're he's she's it's we're they're i'll gonna wanna"
_NAMING = "called named currently um uh er erm"
_NO_END = frozenset(
    " ".join((_ARTICLES, _PREPOSITIONS, _CONJUNCTIONS, _BEGINNINGS, _NAMING)).split(" ")
)
_NO_QUESTION_END = frozenset(f"{_ARTICLES} {_CONJUNCTIONS}".split(" "))
"""Words that can't end a question either, as other dangling words can: "Who is it from?"."""
_OPENERS = frozenset(("if", "although", "though", "because", "unless", "while", "whereas", "once"))
_INFINITIVE = re.compile(
    r"to (?!(?:me|you|him|her|it|us|them|the|a|an|my|your|this|that)\b)\w+ \w+"
)
_MAIN_CLAUSE_AFTER = re.compile(r",\s*\w+\s+\w+")
LONGEST_OPENING = 14
"""Words. A longer sentence probably contains its main clause, even if it has no comma."""


class Completeness(Enum):
    FINISHED = auto()
    """Ends like a sentence."""
    OPEN = auto()
    """Could be either: "stop", "nineteen eighty"."""
    DANGLING = auto()
    """Something must follow."""


def completeness_of(text: str, language: str = "en") -> Completeness:
    """How complete `text` is, as written by the recogniser."""
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
    STARTED = auto()
    """There has been a voice for `start_s`."""
    PAUSED = auto()
    """Silence for `hint_s`: the turn may be over, so it is time to ask for opinions."""
    RESUMED = auto()
    """There is a voice again after a pause."""


class Endpointer:
    """Follows speech from window to window, and decides when a turn is over."""

    def __init__(self, settings: Turn) -> None:
        self._settings = settings
        self.reset()

    def reset(self) -> None:
        """The turn is over or abandoned: wait for the next."""
        self.speaking = False
        self.silence_s = 0.0
        self._voice_s = self._gap_s = 0.0

    @property
    def sensing(self) -> bool:
        """There may be a voice, but it has not lasted long enough to be sure."""
        return self._voice_s > 0 and not self.speaking

    def feed(self, probability: float) -> SpeechChange | None:
        """Process the probability of a voice in the next window; returns the resulting change."""
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
        """Whether the silence has lasted long enough, given both opinions (None: not known yet).

        If both allow it, the turn ends after `stop_s`; if only one says that the user has
        finished, after `doubtful_wait_s`; in any case after `incomplete_wait_s`.
        """
        silence_s, settings = self.silence_s + ROUNDING_S, self._settings
        if silence_s >= settings.incomplete_wait_s:
            return True
        if silence_s >= settings.doubtful_wait_s:
            return bool(sounds_finished) or completeness is Completeness.FINISHED
        unfinished = completeness in (None, Completeness.DANGLING)
        return silence_s >= settings.stop_s and bool(sounds_finished) and not unfinished
