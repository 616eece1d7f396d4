"""The evaluations of the memory run from the command line to the end, on parts of their sets."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from assistant.memory.forgetting.selection import LIKE
from scripts import eval_about, eval_clues, eval_recall, eval_summaries, eval_upkeep
from scripts.eval.recall_data import own_files

pytestmark = pytest.mark.real

QUICK = "all-minilm-l6-v2"

Read = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def some_of_what_was_said(store: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduces facts and distractors to a tenth each."""

    def some(name: str) -> tuple[Path, Path]:
        fewer = []
        for file in own_files(name):
            lines = file.read_text("utf-8").splitlines(keepends=True)[::10]
            fewer.append(tmp_path / file.name)
            fewer[-1].write_text("".join(lines), "utf-8")
        facts, distractors = fewer
        return facts, distractors

    for module in (eval_clues, eval_recall):
        monkeypatch.setattr(module, "own_files", some)


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Read:
    """Makes a function that runs an evaluation, which must not fail, and returns its figures."""

    def read(main: Callable[[Sequence[str]], int], *arguments: str) -> dict[str, Any]:
        assert main([*arguments, "--json"]) == 0
        found = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert isinstance(found, dict)
        return found

    return read


@pytest.mark.parametrize(
    ("name", "questions"),
    [pytest.param("paraphrase", 27, marks=pytest.mark.long), ("short", 16)],
)
def test_recall_finds_our_own_facts_better_by_meaning_than_by_words(
    told: Read, name: str, questions: int
) -> None:
    found = told(eval_recall.main, f"--{name}", "--encoder", QUICK)
    assert found["questions"] == questions
    assert found["ours"]["R@5"] > found["ours_words"]["R@5"] + 0.2
    assert found["ours"]["R@5"] > found["bm25"]["R@5"] + 0.2
    assert found["ours"]["R@5"] >= found["ours_brief"]["R@5"] - 0.1


def test_recall_of_conversations_is_evaluated_with_all_variants(told: Read, tmp_path: Path) -> None:
    lines = [
        ("Ann", "My brother Tom moved to Ghent last week."),
        ("Bob", "How nice, what will he do there?"),
        ("Ann", "He bakes bread, and I will visit him on Friday."),
        ("Bob", "I went swimming and then I watched a film."),
    ]
    turns = [
        {"dia_id": f"D1:{place}", "speaker": who, "text": text}
        for place, (who, text) in enumerate(lines, 1)
    ]
    asked = [
        {"question": "Where does Ann's brother live?", "evidence": ["D1:1"], "category": 1},
        {"question": "What does Tom bake?", "evidence": ["D1:3"], "category": 4},
    ]
    said = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([{"conversation": said, "qa": asked}]), "utf-8")
    beside = ["--query", "full", "--facts", "--without", "times+dated,linked"]
    found = told(
        eval_recall.main,
        str(file),
        "--encoder",
        QUICK,
        "--stand-in",
        QUICK,
        "--query=full",
        *beside,
    )
    assert found["questions"] == 2
    assert set(found["by_category"]) == {"1", "4"}
    for name in ("ours", "ours_stand_in", "facts", "ours_without_linked"):
        assert found[name]["MRR@10"] == 1, name
    assert set(found["ours_less"]) >= {"ours_without_times+dated", "ours_brief", "rrf"}


@pytest.mark.long
def test_clues_in_questions_improve_recall(told: Read) -> None:
    found = told(eval_clues.main, "--encoder", QUICK)
    for name, least in (("times", 0.1), ("roles", 0.3)):
        gained, _ = found[name]["ours_less"]["ours_without_times+dated+linked"]["R@5"]
        assert gained > least
    assert found["times"]["by_category"]["none"]["questions"] == 10


@pytest.mark.long
def test_few_sentences_are_about_a_topic_only_by_meaning(
    told: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eval_about, "OTHERS", 100)
    found = told(eval_about.main)
    assert found["sentences"] == 367
    assert found["taken"] == sum(cosine >= LIKE for cosine, *_ in found["shown"]) <= 1
    assert found["shown"]


@pytest.mark.parametrize("part", ["a", "b"])
def test_upkeep_decides_no_pair_wrongly_and_most_pairs_rightly(told: Read, part: str) -> None:
    for decided in told(eval_upkeep.main)[part]["with_cosine"].values():
        assert decided["precision"] == 1
        assert decided["recall"] > 0.75


@pytest.mark.long
def test_summaries_improve_notes_about_a_time_and_harm_no_narrow_question(told: Read) -> None:
    found = told(eval_summaries.main)
    for room in (120, 200, 400):
        assert found["without"][f"narrow {room}"] == found["rules"][f"narrow {room}"] == 1
    assert found["rules"]["time 400"] > found["without"]["time 400"] > 0.7
    assert found["without"]["topic 400"] > 0.65
