"""Turns with marked pauses: how they are read, and what is learnt from them."""

import json
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest

from scripts.common import spoken_turns
from scripts.common.rows import InputUnusable
from scripts.common.spoken_turns import (
    EVALUATION,
    INTERRUPTIONS,
    JUDGED_INTERRUPTIONS,
    PARTS,
    TRAINING,
    Interruption,
    SpokenTurn,
    read_interruptions,
    read_turns,
)
from scripts.train import turn_lessons
from scripts.train.turn_lessons import (
    INTERRUPTION_PASSES,
    PASSES,
    Lesson,
    drawn,
    interruptions,
    pauses,
    read_whole,
)

TURN = SpokenTurn("a", ("Remind me to,", "um,", "call Anna."), "What shall I do?")


def read(folder: Path, *rows: dict[str, str], part: str | None = None) -> list[SpokenTurn]:
    file = folder / "turns.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with patch.object(spoken_turns, "located", lambda _: file):
        return read_turns("turns.jsonl", None, part)


def test_pauses_divide_a_turn(tmp_path: Path) -> None:
    row = {"by": "a", "question": "What shall I do?", "said": "Remind me to, | um, | call Anna."}
    other = {"by": "b", "part": "dev", "said": "Stop."}
    assert read(tmp_path, row, other) == [TURN, SpokenTurn("b", ("Stop.",), "")]
    assert read(tmp_path, row, other, part="dev") == [SpokenTurn("b", ("Stop.",), "")]


def test_a_turn_without_words_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputUnusable, match=r"Line 1 of .* has no words"):
        read(tmp_path, {"by": "a", "said": " | "})


def test_a_turn_is_incomplete_until_its_end() -> None:
    assert [*pauses(TURN)] == [
        Lesson("Remind me to", TURN.question, "complete", wanted=False),
        Lesson("Remind me to, um", TURN.question, "complete", wanted=False),
        Lesson("Remind me to, um, call Anna", TURN.question, "complete", wanted=True),
    ]


def test_a_pass_has_marked_turns_often_and_others_whole_and_cut() -> None:
    others = [SpokenTurn("", ("One two three, four five.",), ""), SpokenTurn("", ("Stop.",), "")]
    spoken = [Interruption("a", "Take two", "Wait.", stops=True)]
    lessons = drawn([*pauses(TURN)], others, spoken, 2, Random(1))
    assert len(lessons) == PASSES * 3 + 3 + INTERRUPTION_PASSES
    rest = lessons[PASSES * 3 : PASSES * 3 + 3]
    assert [each.wanted for each in rest] in ([True, False, True], [True, True, False])
    [cut] = [each.words for each in rest if not each.wanted]
    last = lessons[-1]
    assert (last.layer, last.assistant, last.wanted) == ("interrupts", "Take two", True)
    assert "One two three, four five".startswith(cut)
    assert cut.startswith("One two three")
    assert cut != "One two three, four five"


def test_of_an_interruption_most_words_are_learnt_and_of_other_words_any_beginning() -> None:
    words = "Wait, does that mean the oven must be on?"
    for stops, least in ((True, 6), (False, 1)):
        some = [Interruption("a", "First,", words, stops)] * 200
        counts = {len(each.words.split()) for each in interruptions(some, Random(1))}
        assert counts == set(range(least, 10))


def test_what_was_heard_is_learnt_without_end_marks_and_by_these_writers_only(
    tmp_path: Path,
) -> None:
    file = tmp_path / "heard.jsonl"
    rows = [
        {"by": by, "question": "When?", "heard": heard, "complete": complete}
        for by, heard, complete in (("a", "At", False), ("a", "At nine.", True), ("b", "No.", True))
    ]
    rows.append({"by": "a", "question": "", "heard": " ... ", "complete": True})
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with patch.object(turn_lessons, "located", lambda _: file):
        assert turn_lessons.heard({"a"}) == [
            Lesson("At", "When?", "complete", wanted=False),
            Lesson("At nine", "When?", "complete", wanted=True),
        ]


def test_the_shipped_interruptions_can_be_read_and_no_writer_wrote_for_two_parts() -> None:
    parts = [read_interruptions(INTERRUPTIONS)]
    parts += [read_interruptions(JUDGED_INTERRUPTIONS, None, part) for part in ("dev", "test")]
    writers = [{each.by for each in part} for part in parts]
    assert all(writers)
    assert len(set.union(*writers)) == sum(map(len, writers))
    assert all({each.stops for each in part} == {True, False} for part in parts)


def test_the_shipped_turns_can_be_read_and_no_writer_wrote_for_two_parts() -> None:
    writers = [{each.by for each in read_turns(TRAINING)}]
    writers += [{each.by for each in read_turns(EVALUATION, None, part)} for part in PARTS]
    assert all(writers)
    assert len(set.union(*writers)) == sum(map(len, writers))
    assert all(len(each.parts) > 0 for each in read_whole(20))
