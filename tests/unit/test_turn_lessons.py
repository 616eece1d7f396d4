"""Turns with marked pauses: how they are read, and what is learnt from them."""

import json
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest

from scripts.common import spoken_turns
from scripts.common.rows import InputUnusable
from scripts.common.spoken_turns import EVALUATION, PARTS, TRAINING, SpokenTurn, read_turns
from scripts.train.turn_lessons import PASSES, Lesson, drawn, pauses, read_whole

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
        Lesson("Remind me to", TURN.question, complete=False),
        Lesson("Remind me to, um", TURN.question, complete=False),
        Lesson("Remind me to, um, call Anna", TURN.question, complete=True),
    ]


def test_a_pass_has_marked_turns_often_and_others_whole_and_cut() -> None:
    others = [SpokenTurn("", ("One two three, four five.",), ""), SpokenTurn("", ("Stop.",), "")]
    lessons = drawn([TURN], others, 2, Random(1))
    assert len(lessons) == PASSES * 3 + 3
    rest = lessons[PASSES * 3 :]
    assert [each.complete for each in rest] in ([True, False, True], [True, True, False])
    [cut] = [each.words for each in rest if not each.complete]
    assert "One two three, four five".startswith(cut)
    assert cut.startswith("One two three")
    assert cut != "One two three, four five"


def test_the_shipped_turns_can_be_read_and_no_writer_wrote_for_two_parts() -> None:
    writers = [{each.by for each in read_turns(TRAINING)}]
    writers += [{each.by for each in read_turns(EVALUATION, None, part)} for part in PARTS]
    assert all(writers)
    assert len(set.union(*writers)) == sum(map(len, writers))
    assert all(len(each.parts) > 0 for each in read_whole(20))
