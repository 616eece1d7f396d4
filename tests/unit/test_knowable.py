"""The utterances by which it is learnt and measured what the assistant can't know."""

from collections import Counter
from pathlib import Path

import pytest

from assistant.context.not_known import NOT_ONLINE, NotKnown
from assistant.intents.intent_recogniser import TOLD
from data import located
from models.interfaces import ClassifiedText
from scripts.common.knowable import EVALUATION, PARTS, TRAINING, Labelled, read_labelled
from scripts.common.rows import InputUnusable
from scripts.eval import knowable
from scripts.eval.answer_data import read_people
from scripts.eval.knowable import Scored, by_classifier, figures, fixed_replies, told_figures


def plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def test_no_learnt_utterance_is_measured_and_none_is_learnt_twice() -> None:
    learnt = [plain(each.said) for each in read_labelled(located(TRAINING))]
    measured = {plain(each.said) for each in read_labelled(located(EVALUATION))}
    assert len({*learnt}) == len(learnt) > 1600
    assert measured.isdisjoint(learnt)


@pytest.mark.parametrize(("part", "known"), [*zip(PARTS, (336, 120), strict=True)])
def test_each_part_has_all_classes(part: str, known: int) -> None:
    labels = Counter(each.label for each in read_labelled(located(EVALUATION), part))
    assert labels == {"known": known, "live": 80, "unseen": 60}


def test_a_wrong_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "knowable.jsonl"
    right = '{"said": "Is it raining?", "label": "live", "part": "dev"}\n'
    for wrong in ('{"said": "Hm.", "label": "maybe"}', '{"said": " ", "label": "live"}'):
        file.write_text(right + wrong, encoding="utf-8")
        with pytest.raises(InputUnusable, match="Line 2 of"):
            read_labelled(file)
    file.write_text(right, encoding="utf-8")
    assert read_labelled(file, "dev") == [Labelled("Is it raining?", "live")]
    with pytest.raises(InputUnusable, match="no utterances of part test"):
        read_labelled(file, "test")


def test_the_figures_count_what_reaches_the_threshold() -> None:
    asked = [
        Scored(Labelled("Is it raining?", "live"), 0.9, passed=True),
        Scored(Labelled("Any news?", "live"), 0.3, passed=True),
        Scored(Labelled("Is Jo cross?", "unseen"), 0.7, passed=False),
        Scored(Labelled("What is rain?", "known"), 0.6, passed=True),
    ]
    talked = [Scored(Labelled("Yes.", "known"), each, passed=True) for each in (0.1, 0.2, 0.7)]
    assert figures(asked, talked, 0.65) == {
        "known": 0.0,
        "live": 0.5,
        "unseen": 1.0,
        "recall": 0.6667,
        "passed": 0.5,
        "talk": 3,
        "talk_taken": 1,
        "talk_share": 0.3333,
    }
    assert figures(asked, talked, 0.6)["known"] == 1.0
    fixed = [each._replace(fixed=each.unknowable > 0.6) for each in asked]
    assert fixed_replies(fixed, talked) == {
        "fixed": {"known": 0.0, "live": 0.5, "unseen": 1.0},
        "talk_fixed": 0,
    }


class Judging:
    """Gives the same probabilities for everything, or for the given utterances only."""

    def __init__(self, *only: str, live: float = 0.0, told: float = 0.0) -> None:
        self._only = only
        self._found = ClassifiedText({}, live=live, told=told)

    def load(self) -> None:
        """Nothing to load."""

    def classify(self, text: str) -> ClassifiedText:
        return self._found if not self._only or text in self._only else ClassifiedText({})


def test_what_the_grammar_recognises_is_not_judged() -> None:
    cannot_know = by_classifier(Judging(live=1.0))
    assert cannot_know("Is it raining in Leeds?") == NotKnown(NOT_ONLINE)
    assert cannot_know("Stop.") is None


def test_it_is_counted_what_is_taken_for_a_question_about_the_users_life() -> None:
    asked = [each.question for person in read_people("dev") for each in person.questions]
    known = ["What is rain?", "Hm.", "Who wrote Emma?", "I see."]
    taken = Judging(asked[0], asked[-1], known[2], told=TOLD)
    found = told_figures(taken, "dev", known)
    assert found == {"memories": round(2 / len(asked), 4), "known": 0.25}
    unsure = Judging(told=TOLD - 0.01)
    assert told_figures(unsure, "dev", known) == {"memories": 0.0, "known": 0.0}
    assert told_figures(taken, "dev", [])["known"] is None


def test_only_what_is_in_the_first_person_counts_as_said_not_to_be_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(knowable, "loaded_classifier", lambda: Judging(told=1.0))
    found = knowable.measured("dev")
    assert found["told"] == {"memories": 1.0, "known": 1.0}
    assert all(0 < share < 0.6 for share in found["fixed"].values())
