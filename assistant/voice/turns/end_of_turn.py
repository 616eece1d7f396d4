"""Estimates whether the user's turn is over, while the user is silent.

Three kinds of evidence count. The words may be complete or not. The voice may sound finished or
not: at the end of a sentence, for example, its pitch often falls. And the longer the silence lasts,
the less likely it is that the user only pauses. Each kind contributes to one sum of log-odds, and
the turn ends as soon as this sum is high enough. `scripts/train_turn_end.py` chooses the weights.
"""

import asyncio
import math
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from assistant.voice.turns.pipecat_models import SoundJudge
from assistant.voice.turns.words import WordJudge
from data import located
from models.interfaces import Samples, TurnJudge

WEIGHTS = "turn_end.json"

LEAST_SILENCE_S = 0.4
"""Seconds of silence before which a turn never ends. Most pauses within a phrase are shorter."""
UNREADY_S = 1.2
"""Seconds of silence after which a turn may end although its answer isn't ready to be heard. Ending
it sooner would not speed up the answer, but would split turns that the user resumes."""
LONGEST_SILENCE_S = 3.0
"""Seconds of silence that end any turn if `turn.patience` is 1."""
RECHECK_S = 0.256
"""Seconds of silence after which the sound is judged once more, unless the evidence suffices to end
the turn. More silence improves the judgement, but judging takes time from the answer."""
SUREST = 0.999
"""The probability that the user sounds finished is clamped to the range from 1 - `SUREST` to
`SUREST`."""
UNJUDGED_WORDS = -0.8
"""The log-odds assumed for words that nothing can judge, e.g. in another language. A turn then ends
as soon as it sounds finished, and after more than a second if it doesn't."""


class Weights(BaseModel):
    """How the kinds of evidence are combined.

    Attributes:
        words: factor of the log-odds that the words are complete.
        least_words, most_words: the range to which these log-odds are limited.
        sound: factor of the log-odds that the user sounds finished.
        pause_s: the median length in seconds of a pause in the middle of a turn.
        spread: the standard deviation of the logarithm of these lengths.
        enough: the sum at which a turn ends.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    words: float = Field(ge=0)
    least_words: float
    most_words: float
    sound: float = Field(ge=0)
    pause_s: float = Field(gt=0)
    spread: float = Field(gt=0)
    enough: float


def read_weights() -> Weights:
    """Read the weights in use."""
    return Weights.model_validate_json(located(WEIGHTS).read_bytes())


def logit(probability: float) -> float:
    """Convert the probability that a speaker sounds finished to log-odds."""
    bounded = min(max(probability, 1 - SUREST), SUREST)
    return math.log(bounded / (1 - bounded))


@dataclass(slots=True)
class Evidence:
    """What is known about a pause.

    Attributes:
        words: the log-odds that the words are complete; None until they were judged.
        sound: the log-odds that the user sounds finished; None until it was judged.
        sound_s: the seconds of silence in the sound that was judged.
        ready: whether the answer is ready to be heard.
    """

    words: float | None = None
    sound: float | None = None
    sound_s: float = 0.0
    ready: bool = False


class EndOfTurn:
    """Estimates whether a turn is over.

    Args:
        sound: judges the sound.
        words: judges the words; None if no model for the user's language is on this machine.
        weights: how both are combined with the length of the silence.
        patience: the setting `turn.patience`.
    """

    def __init__(
        self, sound: SoundJudge, words: TurnJudge | None, weights: Weights, patience: float
    ) -> None:
        self._sound = sound
        self.words = WordJudge(words)
        self._weights = weights
        self._patience = patience

    async def judge_sound(self, evidence: Evidence, samples: Samples, silence_s: float) -> None:
        """Judge the sound, and note the result, unless the result for a longer silence is there.

        Args:
            samples: 16 kHz audio, of which at most the last 8 s count.
            silence_s: the seconds of silence at its end.
        """
        found = logit(await asyncio.to_thread(self._sound.probability, samples))
        if silence_s >= evidence.sound_s:
            evidence.sound, evidence.sound_s = found, silence_s

    async def judge_words(self, evidence: Evidence, words: str, question: str) -> None:
        """Judge the words, and note the result.

        Args:
            question: the assistant's question that the words may answer, or empty.
        """
        found = await self.words.complete(words, question)
        evidence.words = UNJUDGED_WORDS if found is None else found

    def sum(self, evidence: Evidence, silence_s: float) -> float:
        """Add up the evidence that the turn is over after this many seconds of silence."""
        weights = self._weights
        words = min(max(evidence.words or 0.0, weights.least_words), weights.most_words)
        sound = evidence.sound or 0.0
        return weights.words * words + weights.sound * sound + self.of_silence(silence_s)

    def of_silence(self, silence_s: float) -> float:
        """Return how strongly a silence of this length suggests that the turn is over: minus the
        logarithm of the share of pauses within a turn that last at least as long. The lengths of
        these pauses have a log-normal distribution."""
        weights = self._weights
        ratio = max(silence_s, 0.01) / (weights.pause_s * self._patience)
        share = math.erfc(math.log(ratio) / weights.spread / math.sqrt(2)) / 2
        return -math.log(max(share, 1e-6))

    def is_over(self, evidence: Evidence, silence_s: float) -> bool:
        """Whether the turn ends after this many seconds of silence. A very long silence always ends
        it. A shorter one ends it if the evidence suffices (`is_sure`), but never before
        `LEAST_SILENCE_S`, and before `UNREADY_S` only if the answer is ready."""
        if silence_s >= LONGEST_SILENCE_S * self._patience:
            return True
        if silence_s < LEAST_SILENCE_S:
            return False
        if not evidence.ready and silence_s < UNREADY_S:
            return False
        return self.is_sure(evidence, silence_s)

    def is_sure(self, evidence: Evidence, silence_s: float) -> bool:
        """Whether the words are judged, and the evidence suffices to end the turn after this many
        seconds of silence."""
        enough = self._weights.enough + math.log(self._patience)
        return evidence.words is not None and self.sum(evidence, silence_s) >= enough
