"""The evaluation of interruptions counts what it says."""

from assistant.voice.turns.barge_in import BEGINS_TO_INTERRUPT
from scripts.common.spoken_turns import Interruption
from scripts.eval_interruptions import beginnings, judged, share


class Scripted:
    """Judges words as scripted, others as those of a listener."""

    def __init__(self, **odds: float) -> None:
        self._odds = odds

    def load(self) -> None:
        pass

    def complete(self, words: str, question: str = "") -> float:
        del words, question
        return 0.0

    def interrupts(self, words: str, spoken: str) -> float:
        return self._odds.get(words, -3.0) if spoken == "First," else 0.0


def test_shares_are_of_interruptions_of_other_words_and_of_their_beginnings() -> None:
    judge = Scripted(wait=3.0, what=BEGINS_TO_INTERRUPT, oh=BEGINS_TO_INTERRUPT - 0.1)
    some = [
        Interruption("a", "First,", said, stops)
        for said, stops in (("wait", True), ("no", True), ("what a story", False), ("oh my", False))
    ]
    found = judged(judge, some)
    assert found["stopped"]["share"] == 0.5
    assert found["went_on"]["share"] == 1.0
    assert found["went_on_at_every_beginning"]["share"] == 0.5
    assert found["auc"] == 0.5


def test_beginnings_are_shorter_than_the_utterance() -> None:
    assert beginnings("What a story.") == ["What", "What a"]
    assert beginnings("Stop.") == []


def test_without_utterances_there_is_no_share() -> None:
    assert share([]) == {"share": None, "interval": None}
