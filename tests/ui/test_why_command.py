"""`assistant memory why` and `log`, and the same requests to a running assistant."""

from collections.abc import Callable
from contextlib import closing

import pytest

from assistant.context.conversation import Conversation
from assistant.context.not_known import NOT_THERE
from assistant.errors import SettingsError, StoreError
from assistant.memory import UserMemory
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from tests.support.command_line import Run, objects
from tests.support.desks import ask, at_desk, forget_now
from tests.support.explained import CAT, DOG, TEA, WHAT, explained

NEITHER = "is neither a turn's number nor 6 or more characters of an exchange's id."


@pytest.fixture
def why(run: Run, home: Home) -> Callable[..., list[str]]:
    explained(home)
    assert run("memory", "rebuild")[0] == 0

    def asked(*words: str) -> list[str]:
        code, out, err = run("memory", "why", *words)
        assert (code, err) == (0, [])
        return out

    return asked


def test_an_answer_is_explained_with_what_was_recalled_and_what_was_left_out(
    why: Callable[..., list[str]],
) -> None:
    out = "\n".join(why("1"))
    assert out.startswith("Turn 1, ")
    assert WHAT in out
    based, prompt, left = (
        out.index(words)
        for words in (
            "The answer was based on:",
            "Memories in the prompt:",
            "Recalled, but left out of the prompt:",
        )
    )
    assert DOG in out[based:prompt]
    assert CAT not in out[based:prompt]
    assert "0.91, the answer was based on it" in out[prompt:left]
    assert CAT in out[prompt:left]
    assert TEA in out[left:]
    assert "0.31, not close enough" in out[left:]
    assert "unknown" not in out


def test_by_default_the_last_answer_is_explained(why: Callable[..., list[str]]) -> None:
    out = why()
    assert "Lima." in out[2]
    assert out[3].startswith("The answer came from the model")
    assert len(out) == 4


def test_a_fixed_reply_came_from_neither_the_model_nor_the_memory(run: Run, home: Home) -> None:
    explained(home)
    with closing(Transcript.open(home.transcript)) as transcript:
        talk = Conversation.begin("me")
        talk.append_user(1, "Where are my keys?")
        transcript.store(talk, talk.complete(1, NOT_THERE))
    assert run("memory", "why")[1][3:] == [
        "This is a fixed reply. It came neither from the model nor from the memory."
    ]
    [answer] = objects(run("memory", "why", "--json")[1])
    assert (answer["fixed"], answer["from_model"]) == (True, False)


def test_json_output_has_the_ids_scores_and_reasons(run: Run, home: Home) -> None:
    dog, cat, tea, asked, _ = explained(home)
    run("memory", "rebuild")
    answer, source, *recalled = objects(run("memory", "why", asked.id[:8], "--json")[1])
    assert (answer["event"], answer["id"], answer["from_model"]) == ("answer", asked.id, False)
    assert (source["event"], source["memory"]) == ("source", f"{dog.id}-user")
    assert [(row["id"], row["score"], row["left_out"], row["based_on"]) for row in recalled] == [
        (f"{dog.id}-user", 0.91, None, True),
        (f"{cat.id}-user", 0.62, None, False),
        (f"{tea.id}-user", 0.31, "not close enough", False),
    ]


@pytest.mark.parametrize(
    ("turn", "code", "sentence"),
    [
        ("7", 5, "The last conversation has no turn 7."),
        ("abc", 2, f"'abc' {NEITHER}"),
        ("abcdefgh", 5, "No exchange id begins with 'abcdefgh'."),
        ("٣", 2, f"'٣' {NEITHER}"),
    ],
)
def test_a_turn_that_does_not_exist_is_reported(
    run: Run, home: Home, turn: str, code: int, sentence: str
) -> None:
    explained(home)
    ended, out, err = run("memory", "why", turn)
    assert (ended, out, err[0]) == (code, [], sentence)


def test_without_a_conversation_there_is_nothing_to_explain(run: Run) -> None:
    assert run("memory", "why")[2][0] == "There is no answer to explain."


def test_the_log_has_the_newest_answers_and_what_was_recalled_for_each(
    run: Run, home: Home
) -> None:
    *told, asked, last = explained(home)
    run("memory", "rebuild")
    code, out, err = run("memory", "log")
    assert (code, err) == (0, [])
    turns = [line for line in out if not line.startswith(" ")]
    assert [line[:8] for line in turns] == [each.id[:8] for each in (last, asked, *reversed(told))]
    assert out[0].endswith(f": {last.user_text}")
    assert out[1].endswith(f": {WHAT}")
    assert out[2:5] == [
        f"   0.91  in the prompt, used         {DOG}",
        f"   0.62  in the prompt               {CAT}",
        f"   0.31  left out: not close enough  {TEA}",
    ]
    assert run("memory", "log", "--limit", "2")[1] == out[:5]


def test_the_log_shortens_texts_to_one_line(run: Run, home: Home) -> None:
    home.create()
    with closing(Transcript.open(home.transcript)) as transcript:
        talk = Conversation.begin("me")
        for turn, (said, answer) in enumerate((("A long\nstory. " * 20, "Oh."), (TEA, ""))):
            talk.append_user(turn, said)
            transcript.store(talk, talk.complete(turn, answer))
    [line] = run("memory", "log")[1]
    assert "A long story. A long" in line
    assert 95 < len(line) <= 100
    assert line.endswith("…")


def test_the_log_explains_each_answer_as_why_does(run: Run, home: Home) -> None:
    explained(home)
    run("memory", "rebuild")
    *answers, counted = objects(run("memory", "log", "--json")[1])
    assert counted == {"event": "counted", "of": "answers", "count": len(answers)}
    for answer in answers:
        alone, *rows = objects(run("memory", "why", answer["id"], "--json")[1])
        recalled = [row for row in rows if row["event"] == "recalled"]
        assert answer == {**alone, "recalled": recalled}


def test_a_note_that_every_prompt_contains_has_no_score_in_the_log(run: Run, home: Home) -> None:
    explained(home)
    run("memory", "rebuild")
    with at_desk(home) as desk:
        [peru] = ask(desk, "add", text="The user was born in Lima.")
        desk.mark(peru["id"], pinned=True)
    with closing(Transcript.open(home.transcript)) as transcript:
        talk = Conversation.begin("me")
        talk.append_user(1, "Where was I born?")
        transcript.store(talk, talk.complete(1, "You were born in Lima."))
    out = run("memory", "log", "--limit", "1")[1]
    assert out[1:] == [f"{'':9}in every prompt, used       The user was born in Lima."]


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        ("0", "--limit must be a number, 1 or more."),
        ("few", "Argument --limit: invalid int value: 'few'."),
    ],
)
def test_a_limit_that_is_no_number_of_answers_is_reported(
    run: Run, limit: str, sentence: str
) -> None:
    code, out, err = run("memory", "log", "--limit", limit)
    assert (code, out, err[0]) == (2, [], sentence)


def test_without_answers_the_log_says_so(run: Run, home: Home) -> None:
    explained(home, "bob")
    assert run("memory", "log") == (0, ["There are no answers yet."], [])
    assert len(run("memory", "log", "--user", "bob", "--limit", f"{10**20}")[1]) >= 5


def test_what_is_hidden_or_forgotten_is_not_shown(home: Home) -> None:
    dog, *_, asked, last = explained(home)
    with at_desk(home) as desk:
        desk.rebuild()
        assert DOG in str(ask(desk, "why", turn="1"))
        ask(desk, "forget", ids=[f"{dog.id}-user"])
        assert DOG not in str(hidden := ask(desk, "why", turn="1"))
        assert DOG not in str(ask(desk, "log"))
        assert hidden[0]["from_model"]
        assert TEA in str(hidden)
        ask(desk, "undo")
        assert DOG in str(ask(desk, "why", turn="1"))
        forget_now(desk, [f"{dog.id}-user"])
        assert dog.id not in str(ask(desk, "why", turn="1"))
        assert dog.id not in str(ask(desk, "log"))
        ask(desk, "forget", ids=[f"{asked.id}-user"])
        with pytest.raises(StoreError, match="no turn 1"):
            ask(desk, "why", turn="1")
        with pytest.raises(StoreError, match="No exchange id begins"):
            ask(desk, "why", turn=asked.id)
        assert WHAT not in str(ask(desk, "log"))
        ask(desk, "forget", ids=[f"{last.id}-user"])
        assert ask(desk, "why")[0]["user"] == TEA, "the last answer that is left"


def test_another_users_answers_are_not_explained(home: Home) -> None:
    asked = explained(home, "bob")[3]
    with at_desk(home) as desk, pytest.raises(StoreError, match="No exchange id begins"):
        ask(desk, "why", turn=asked.id)
    with at_desk(home) as desk, pytest.raises(StoreError, match="no answer to explain"):
        ask(desk, "why")
    with at_desk(home) as desk, pytest.raises(SettingsError):
        ask(desk, "why", turn=3)


@pytest.fixture
def told(home: Home) -> None:
    explained(home)


@pytest.mark.usefixtures("told", "running")
def test_a_running_assistant_is_asked(run: Run) -> None:
    out = "\n".join(run("memory", "why", "1")[1])
    assert "0.91, the answer was based on it" in out
    assert "0.31, not close enough" in out
    assert any("0.91  in the prompt, used " in line for line in run("memory", "log")[1])


def test_the_memories_of_a_running_assistant_are_used(
    told: None, running: UserMemory, run: Run
) -> None:
    del told
    [dog] = [key for key, each in running.index.outlines().items() if each.text == DOG]
    assert run("memory", "forget", dog, "--now")[0] == 0
    for action in (("why", "1"), ("log",)):
        assert DOG not in "\n".join(run("memory", *action)[1])
