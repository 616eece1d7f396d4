"""`assistant memory forget`, `undo` and `pending` as a user types them."""

import time
from functools import partial
from typing import Any

import pytest

from assistant.paths import Home
from tests.support.command_line import Run, objects
from tests.support.desks import CELLO, DOG, ROOF, SAID, talked
from tests.support.remains import found, marked


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "memory")


@pytest.fixture
def exchanges(home: Home, run: Run) -> dict[str, str]:
    said = talked(home)
    assert run("rebuild")[0] == 0
    return said


def left(run: Run) -> set[str]:
    rows = objects(run("list", "--json")[1])
    return {row["text"] for row in rows if row.get("speaker") == "user"}


def row(lines: list[str]) -> dict[str, Any]:
    [only] = objects(lines)
    return only


def test_one_exchange_is_forgotten_without_asking_and_can_be_brought_back(
    run: Run, exchanges: dict[str, str]
) -> None:
    for words in (("--about", "my dog"), ("--minutes", "10"), ("--last",), (exchanges[ROOF],)):
        code, out, err = run("forget", *words)
        assert (code, err) == (0, [])
        assert out[0].startswith("Forgotten: 2 memories and 1 exchange. Hidden now, ")
        assert "gone for good at the next start or command after " in out[0]
        assert out[1].endswith(": assistant memory undo")
        assert len(left(run)) == 2
        waiting = run("pending")[1]
        assert waiting[0].endswith(" s left)")
        undone = run("undo", waiting[0].split()[0])[1]
        assert undone == ["Brought back: 2 memories and 1 exchange."]
        assert left(run) == set(SAID)
    assert run("pending")[1] == ["Nothing is waiting to be deleted."]
    code, out, err = run("undo")
    assert (code, out) == (5, [])
    assert err == ["There is nothing left to bring back.", "→ assistant memory pending"]


def test_a_preview_shows_what_would_be_forgotten_and_changes_nothing(
    run: Run, exchanges: dict[str, str]
) -> None:
    code, out, _ = run("forget", "--minutes", "30", "--preview")
    assert (code, out[0]) == (0, "This would be forgotten:")
    assert [line.split("  ")[-1].strip() for line in out[1:5]] == [
        "I see, number 3.",
        CELLO,
        "I see, number 2.",
        ROOF,
    ]
    assert out[5:] == ["4 memories and 2 exchanges would be forgotten."]
    assert all(len(line) <= 100 for line in out)
    _, out, _ = run("forget", "--everything", "--preview", "--limit", "2")
    assert out[3:] == [
        "… and 4 more memories",
        "6 memories and 3 exchanges would be forgotten.",
    ]
    rows = objects(run("forget", exchanges[DOG], "--preview", "--json")[1])
    assert [each["event"] for each in rows] == ["going", "going", "exchange", "preview"]
    assert left(run) == set(SAID)
    assert run("pending")[1] == ["Nothing is waiting to be deleted."]


def test_a_preview_shows_exchanges_without_memories_too(run: Run, home: Home) -> None:
    talked(home)
    _, out, _ = run("forget", "--last", "--preview")
    assert out[1].endswith(f"you said    {CELLO}")
    assert out[2:] == ["1 exchange would be forgotten."]


def test_at_a_terminal_the_user_is_asked_before_several_things_are_forgotten(
    run: Run, exchanges: dict[str, str]
) -> None:
    for answer in ("", "n", "what?"):
        typed = f"{answer}\n"
        code, out, err = run("forget", "--minutes", "30", typed=typed, terminal=True)
        assert (code, out[0], out[-1]) == (1, "This would be forgotten:", "Nothing was forgotten.")
        assert err == ["Forget these 2 things? [y/N] "]
        assert left(run) == set(SAID)
    code, out, _ = run("forget", "--minutes", "30", typed="Y\n", terminal=True)
    assert (code, out[-1].endswith(": assistant memory undo")) == (0, True)
    assert left(run) == {DOG}
    run("undo")
    code, _, err = run("forget", "--everything", "--now", typed="yes\n", terminal=True)
    assert (code, err) == (0, ["Forget these 3 things? [y/N] "])
    assert left(run) == set()


def test_without_a_terminal_forgetting_several_things_needs_the_yes_flag(
    run: Run, home: Home, exchanges: dict[str, str]
) -> None:
    for words, what in (
        (["--everything"], "everything"),
        (["--minutes", "30"], "2 things"),
        (["--about", "a roof or a cello", "--json"], None),
    ):
        code, out, err = run("forget", *words)
        assert code == (2 if what else 5)
        if what:
            assert out == []
            assert err[0] == (
                f"This would forget {what}. Confirm it with --yes, since there is no terminal to"
                " ask on."
            )
            assert "--preview" in err[1]
    assert run("forget", "--everything", "--json", typed="y\n", terminal=True)[0] == 2
    assert left(run) == set(SAID)
    done = row(run("forget", "--minutes", "30", "--yes", "--json")[1])
    assert (done["event"], len(done["memories"]), done["attended"]) == ("forgetting", 4, False)
    assert left(run) == {DOG}
    assert row(run("undo", "--json")[1])["id"] == done["id"]
    gone = row(run("forget", "--everything", "--yes", "--now", "--json")[1])
    assert (gone["event"], gone["receipt"]["clean"]) == ("forgotten", True)
    assert found(home.root, set(SAID), []) == []


def test_after_the_grace_time_the_next_command_purges(
    run: Run, home: Home, exchanges: dict[str, str]
) -> None:
    short = ("--set", "forget.grace_s=0.05")
    assert run("forget", exchanges[DOG], *short)[0] == 0
    time.sleep(0.06)
    code, out, err = run("undo")
    assert (code, out) == (5, [])
    assert "is gone for good. Searched " in err[0]
    assert err[1] == "There is nothing left to bring back."
    assert found(home.root, {DOG}, []) == []
    assert marked(home.root) == {exchanges[DOG]}
    now = run("forget", exchanges[ROOF], "--set", "forget.grace_s=0")[1]
    assert now[0] == "Forgotten: 2 memories and 1 exchange."
    assert now[1].endswith("nothing found.")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], 2, "Say what to forget: one of ID, --about, --last, --minutes, --everything."),
        (
            ["--last", "--everything"],
            2,
            "--last and --everything can't be combined: forget one after the other.",
        ),
        (["0123456789", "--minutes", "0"], 2, "ID and --minutes can't be combined"),
        (["--minutes", "0"], 2, "--minutes takes a number greater than 0."),
        (["--minutes", "nan"], 2, "--minutes takes a number greater than 0."),
        (["--minutes", "soon"], 2, "Argument --minutes: invalid float value: 'soon'."),
        (["--last", "--sources"], 2, "--sources needs the ID of a memory."),
        (["--last", "--preview", "--now"], 2, "--preview changes nothing"),
        (["--last", "--limit", "3"], 2, "--limit needs --preview."),
        (["--last", "--preview", "--limit", "0"], 2, "--limit must be a number, 1 or more."),
        (["--about", "him"], 2, "'him' contains nothing to search for."),
        (["--about", "submarines"], 5, "I don't know anything about that."),
        (["0123456789"], 5, "There is no memory '0123456789'."),
    ],
)
def test_errors_give_one_sentence_and_advice(
    run: Run, words: list[str], code: int, sentence: str
) -> None:
    ended, out, err = run("forget", *words)
    assert (ended, out, len(err)) == (code, [], 2)
    assert err[0].startswith(sentence)
    assert err[1].startswith("→ ")


def test_a_topic_is_not_logged_and_can_be_passed_on_standard_input(
    run: Run, home: Home, exchanges: dict[str, str]
) -> None:
    topic = "the submarine that lies in the harbour of Anna's home town, and what is in it"
    assert run("forget", "--about", topic)[0] == 5
    assert run("forget", topic)[0] == 5
    assert run("undo", topic)[0] == 5
    assert home.log.exists()
    assert "submarine" not in home.log.read_text(encoding="utf-8")
    assert run("forget", "--about", "-", typed="my dog\n")[0] == 0
    assert left(run) == {ROOF, CELLO}
