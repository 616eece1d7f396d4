"""What the assistant can't know is recognised in the voice loop, and answered without the model."""

from pathlib import Path

from assistant.context.not_known import NOT_ONLINE, NOT_THERE, NOT_TOLD, WITH_TOOLS
from assistant.context.prompt import NOT_KNOWN, NOT_KNOWN_UNLESS_NOTED
from assistant.events import AnswerText, MemoryUsed, PromptBuilt, Remarked, TurnHeard
from assistant.intents.command import Command, CommandKind, Intent
from assistant.memory.retrieval.results import RecalledForTurn
from assistant.skills.skill import Reply
from models.interfaces import ClassifiedText
from tests.support.fakes import ScriptedEnd, ScriptedLlm, ScriptedStt, silence, sound
from tests.support.session import Session, session

RAIN = "Is it raining in Leeds?"
SKY = "Why is the sky blue?"
KEYS = "Where are my keys?"
WHY = "Why can't you?"
SISTER = "What's my sister's surname?"
CANYON = "Which state is the Grand Canyon in?"


class Judging:
    """Takes what mentions rain for something that can't be known, and two questions for what only
    the user can have told."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def load(self) -> None:
        """Nothing to load."""

    def classify(self, text: str) -> ClassifiedText:
        self.asked.append(text)
        if text == KEYS:
            return ClassifiedText({}, live=0.02, unseen=0.95)
        if text in (SISTER, CANYON):
            return ClassifiedText({}, told=0.99)
        return ClassifiedText({}, live=0.95 if "rain" in text else 0.02)


class Noted:
    """Always finds the same note."""

    def __init__(self, *, near: bool = True, words: tuple[str, ...] = ()) -> None:
        self._note = MemoryUsed("1", "Rain ruins my hair.", 0.9, near=near, words=words)

    def ahead(self, words: str) -> None:
        """Nothing to prepare."""

    async def recall(
        self, query: str, deadline_s: float, *, about_user: bool = False, draft: bool = False
    ) -> RecalledForTurn:
        return RecalledForTurn((self._note,))


class Weather:
    """A tool that knows the weather."""

    kinds = frozenset({CommandKind.ACT})

    async def carry_out(self, command: Command) -> Reply | None:
        return Reply("It is raining.") if command.words == RAIN else None

    async def ask(self, command: Command) -> Reply | None:
        del command
        return None


async def say(talk: Session, *lines: str) -> None:
    for line in lines:
        await talk.loop.say(line)
        await talk.loop.settled()


async def test_what_cannot_be_known_is_answered_like_any_turn_but_without_the_model(
    tmp_path: Path,
) -> None:
    llm, judging = ScriptedLlm("It scatters.", "Good question."), Judging()
    parts = (ScriptedStt("-"), llm, silence(0.1), tmp_path)
    async with session(*parts, classifier=judging) as talk:
        await say(talk, SKY, RAIN, KEYS, WHY)
        told = [(each.user, each.assistant) for each in talk.turns]
        assert told == [
            (SKY, "It scatters."),
            (RAIN, NOT_ONLINE),
            (KEYS, NOT_THERE),
            (WHY, "Good question."),
        ]
        assert [each.text for each in talk.of(TurnHeard)] == [user for user, _ in told]
        assert talk.history()[:-1] == [
            (role, text)
            for turn in told
            for role, text in zip(("user", "assistant"), turn, strict=True)
        ], "a later question may refer to it"
        assert [each.messages[-1].content for each in llm.requests] == [SKY, WHY]
        assert [each.text for each in talk.of(AnswerText) if each.turn == 2] == [NOT_ONLINE]
        assert talk.of(Remarked) == []
        for said in (RAIN, SKY):
            assert judging.asked.count(said) == 1, "routing and the check of claims share it"
        assert NOT_ONLINE not in judging.asked, "it claims nothing"


async def test_a_turn_without_the_model_has_no_prompt_and_no_first_token(tmp_path: Path) -> None:
    parts = (ScriptedStt("-"), ScriptedLlm(), silence(0.1), tmp_path)
    far = Noted(near=False)
    async with session(*parts, classifier=Judging(), recaller=far) as talk:
        await say(talk, SKY, RAIN)
        turn, built = talk.turns[1], talk.of(PromptBuilt)[1]
        assert turn.assistant == NOT_ONLINE
        assert (turn.context_tokens, turn.read_tokens, turn.memories) == (0, 0, ())
        assert turn.near_misses == (("1", 0.9, "not close enough"),)
        assert turn.latency_ms.first_token is None
        assert turn.latency_ms.first_audio is not None
        assert (built.sections, built.left_out) == ((), (("1", "not close enough"),))


async def test_it_is_written_where_nothing_is_spoken(tmp_path: Path) -> None:
    parts = (ScriptedStt("-"), ScriptedLlm(), silence(0.1), tmp_path)
    async with session(*parts, classifier=Judging(), speaks=False) as talk:
        await say(talk, SKY, RAIN)
        assert talk.turns[1].assistant == NOT_ONLINE


async def test_with_notes_the_model_may_answer_from_them(tmp_path: Path) -> None:
    llm = ScriptedLlm("It scatters.", "I don't know.")
    parts = (ScriptedStt("-"), llm, silence(0.1), tmp_path)
    async with session(*parts, classifier=Judging(), recaller=Noted()) as talk:
        await say(talk, SKY, RAIN)
    assert llm.requests[1].messages[-1].content.endswith(f"{RAIN}\n{NOT_KNOWN_UNLESS_NOTED}")


async def test_where_something_else_is_said_too_the_model_answers_with_a_hint(
    tmp_path: Path,
) -> None:
    llm, said = ScriptedLlm("Why did the chicken …"), f"Tell me a joke. {RAIN}"
    async with session(ScriptedStt("-"), llm, silence(0.1), tmp_path, classifier=Judging()) as talk:
        await say(talk, SKY, said)
    assert [each.messages[-1].content for each in llm.requests] == [SKY, f"{said}\n{NOT_KNOWN}"]


async def test_a_question_that_goes_on_leaves_no_trace_of_the_first_reply(tmp_path: Path) -> None:
    stt = ScriptedStt(by_length=lambda s: KEYS if s < 1.6 else f"{KEYS} {SKY}")
    llm, end = ScriptedLlm("It scatters."), ScriptedEnd(0.1, 0.1, 0.99)
    parts = (stt, llm, sound(0.8, 0.6, 0.8, 0.5), tmp_path)
    async with session(*parts, classifier=Judging(), end=end) as talk:
        await talk.to_the_end()
        assert [turn.user for turn in talk.turns] == [f"{KEYS} {SKY}"]
        assert [each.text for each in talk.of(AnswerText)] == ["It scatters."]
        assert len(talk.of(PromptBuilt)) == 1
        assert NOT_THERE not in str(talk.history())


async def test_a_reply_is_interrupted_like_any_answer(tmp_path: Path) -> None:
    stt = ScriptedStt(by_length=lambda s: RAIN if s > 1.2 else "Never mind that now.")
    parts = (stt, ScriptedLlm("All right."), sound(1.5, 1.0, 0.8, 1.0), tmp_path)
    async with session(*parts, classifier=Judging()) as talk:
        await talk.to_the_end()
        first, second = talk.turns
        assert (first.interrupted, second.assistant) == (True, "All right.")
        assert first.assistant
        assert NOT_ONLINE.startswith(first.assistant)


async def test_a_tool_takes_such_a_question_first(tmp_path: Path) -> None:
    async def find(text: str) -> Intent | None:
        return Intent(Command(CommandKind.ACT, text))

    llm, later = ScriptedLlm(), "Will it rain in York?"
    parts = (ScriptedStt("-"), llm, silence(0.1), tmp_path)
    loop = session(*parts, classifier=Judging(), skills=[Weather()], find_tool=find)
    async with loop as talk:
        await say(talk, RAIN, later)
        assert [each.text for each in talk.of(Remarked)] == ["It is raining."]
        assert [each.assistant for each in talk.turns] == [WITH_TOOLS], "no tool has answered it"
    assert llm.requests == []


async def test_what_only_the_user_can_have_told_is_answered_without_the_model_if_nothing_is_near(
    tmp_path: Path,
) -> None:
    llm = ScriptedLlm("It scatters.", "Arizona.", "Ask me later.")
    parts = (ScriptedStt("-"), llm, silence(0.1), tmp_path)
    async with session(*parts, classifier=Judging(), recaller=Noted(near=False)) as talk:
        await say(talk, SKY, SISTER, CANYON, WHY)
        told = [(each.user, each.assistant) for each in talk.turns]
        assert told == [
            (SKY, "It scatters."),
            (SISTER, NOT_TOLD),
            (CANYON, "Arizona."),
            (WHY, "Ask me later."),
        ]
        asked = [each.messages[-1].content for each in llm.requests]
        assert asked == [SKY, CANYON, WHY], "without a hint"
        assert talk.turns[1].near_misses == (("1", 0.9, "not close enough"),)
        assert talk.turns[1].memories == ()
        assert NOT_TOLD in str(talk.history()), "a later question may refer to it"


async def test_what_shares_a_word_with_a_note_is_about_the_user_without_the_first_person(
    tmp_path: Path,
) -> None:
    llm = ScriptedLlm("It scatters.")
    parts, far = (
        (ScriptedStt("-"), llm, silence(0.1), tmp_path),
        Noted(near=False, words=("canyon",)),
    )
    async with session(*parts, classifier=Judging(), recaller=far) as talk:
        await say(talk, SKY, CANYON)
        assert [each.assistant for each in talk.turns] == ["It scatters.", NOT_TOLD]


async def test_if_the_search_was_cut_short_nothing_is_said_not_to_be_told(tmp_path: Path) -> None:
    class Missed(Noted):
        async def recall(
            self, query: str, deadline_s: float, *, about_user: bool = False, draft: bool = False
        ) -> RecalledForTurn:
            return RecalledForTurn(missed=True)

    llm = ScriptedLlm("It scatters.", "Kent.")
    parts = (ScriptedStt("-"), llm, silence(0.1), tmp_path)
    async with session(*parts, classifier=Judging(), recaller=Missed()) as talk:
        await say(talk, SKY, SISTER)
        assert [each.assistant for each in talk.turns] == ["It scatters.", "Kent."]


async def test_with_a_near_note_the_model_answers_what_only_the_user_can_have_told(
    tmp_path: Path,
) -> None:
    llm = ScriptedLlm("It scatters.", "Kent.")
    parts = (ScriptedStt("-"), llm, silence(0.1), tmp_path)
    async with session(*parts, classifier=Judging(), recaller=Noted()) as talk:
        await say(talk, SKY, SISTER)
        assert [each.id for each in talk.turns[1].memories] == ["1"]
    content = llm.requests[1].messages[-1].content
    assert content.endswith(f"Rain ruins my hair.)\n{SISTER}"), "without a hint"


async def test_what_was_told_in_the_conversation_is_answered_by_the_model(tmp_path: Path) -> None:
    llm, said = ScriptedLlm("How nice.", "Kent."), "My sister is Doctor Kent now."
    parts = (ScriptedStt("-"), llm, silence(0.1), tmp_path)
    async with session(*parts, classifier=Judging()) as talk:
        await say(talk, said, SISTER)
        assert [each.assistant for each in talk.turns] == ["How nice.", "Kent."]
    assert llm.requests[1].messages[-1].content == SISTER
