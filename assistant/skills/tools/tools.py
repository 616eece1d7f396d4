"""Uses tools of other programs: MCP servers that the user has named in the settings.

The user is asked before a tool changes anything, unless the settings say otherwise. What the
assistant says afterwards comes from the tool's answer. If a server fails, the assistant just says
so.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from assistant.errors import ModelError, ToolError, ToolLate, ToolOutcomeUnknown
from assistant.intents import Command, CommandKind, Intent, yes_or_no
from assistant.skills.skill import Remark, Reply
from assistant.skills.spoken_errors import notice
from assistant.skills.tools.tool_answers import answer_from, failure, receipt
from assistant.skills.tools.tool_arguments import Argument, from_answer, missing, supported
from assistant.skills.tools.tool_choice import choose
from assistant.tool_servers import (
    Candidate,
    Parameter,
    ParameterKind,
    Tool,
    ToolIndex,
    ToolServers,
    Vectors,
    spoken_name,
)
from models.interfaces import LanguageModel

logger = logging.getLogger(__name__)

LEAST_TALK = 0.34
"""Minimum similarity of a tool to an utterance that is not a command. At or above it, the language
model is asked about the tool. In a test with 26 tools on 4 servers, 73 % of 26 utterances that
asked for a tool reached it. So did 10 of 1,631 others, which had to wait until the model had
answered "none"."""
LEAST_ACT = 0.25
"""The same for an utterance that certainly or probably asks for something to be done."""
LEAST_BARE = 0.42
"""The same for a tool that needs no argument, if the utterance might not be a request. In that
case, only the similarity shows that the tool is meant. One in 1,600 other utterances is that
similar."""
MOST = 3
"""Number of tools from which the language model chooses."""
FIND_S = 0.1
"""Seconds to wait for the utterance's vector."""
PATIENCE_S = 2.5
"""Seconds after which the user is told to wait. The conversation goes on meanwhile."""
ONE_MOMENT = "One moment."
OFF_RECORD = "Off the record, I don't pass anything on to other programs."
CANT_UNDO = "I can't undo what another program has done."
NOT_DONE = "All right, I won't."


class Tools:
    """Finds tools for what the user says, and uses them. Use it only on the event loop.

    Args:
        servers: the tool servers; they may still be starting.
        index: finds tools by meaning; it is rebuilt elsewhere whenever the tools change.
        encode: encodes texts as the index does. Blocks. May raise ModelError.
        llm: chooses the tool, and puts its answer into a sentence.
        off_record: returns whether the session is off the record. While it is, no tool is used,
            because whatever is passed to another program may be stored there.
        remark: makes a remark once a slow tool has answered.
    """

    def __init__(
        self,
        servers: ToolServers,
        index: ToolIndex,
        encode: Callable[[Sequence[str]], Vectors],
        llm: LanguageModel,
        off_record: Callable[[], bool],
        remark: Callable[[Remark], object],
    ) -> None:
        self._servers = servers
        self._index = index
        self._encode = encode
        self._llm = llm
        self._off_record = off_record
        self._remark = remark
        self._calls: set[asyncio.Task[Reply]] = set()

    @property
    def names(self) -> list[str]:
        """The names, in words, of the servers that offer tools now."""
        return list(dict.fromkeys(tool.spoken_server for tool in self._servers.tools))

    async def find(self, text: str) -> Intent | None:
        """If an utterance that is not a command may ask for a tool, return an intent with
        `sure=False`; otherwise None. Takes a few milliseconds."""
        if self._off_record() or not await self._candidates(text, LEAST_TALK):
            return None
        return Intent(Command(CommandKind.ACT, words=text), sure=False)

    async def act(self, text: str, *, sure: bool) -> Reply | None:
        """Do what an utterance asks for if a tool can do it. Return None if none can.

        Args:
            sure: whether the utterance certainly asks for something to be done. If not, a tool is
                used only if the utterance also names something that the tool needs, or if the tool
                needs nothing and is very similar to the utterance.
        """
        found = await self._candidates(text, LEAST_ACT)
        if not found:
            return None
        if self._off_record():
            return Reply(OFF_RECORD, lasts=True) if sure else None
        choice = await choose(self._llm, text, [each.tool for each in found])
        if choice is None:
            return None
        arguments = supported(choice.tool, choice.proposed, text)
        score = next(each.score for each in found if each.tool == choice.tool)
        if not sure and not _is_likely(choice.tool, arguments, score):
            return None
        return await self._go_on(choice.tool, arguments, text)

    # -- inside ---------------------------------------------------------------------------------

    async def _candidates(self, text: str, least: float) -> Sequence[Candidate]:
        if not self._servers.tools or not text.strip():
            return ()
        try:
            async with asyncio.timeout(FIND_S):
                [vector] = await asyncio.to_thread(self._encode, [text])
        except (ModelError, TimeoutError) as error:
            logger.warning("the search for a tool failed: %s", type(error).__name__)
            return ()
        return self._index.find(vector, least, MOST)

    async def _go_on(self, tool: Tool, arguments: Mapping[str, Argument], said: str) -> Reply:
        """Ask for what is missing, then for the user's consent, then use the tool."""
        lacking = missing(tool, arguments)
        if lacking is not None:
            take = partial(self._take, tool, arguments, lacking, said)
            yes = partial(self._go_on, tool, {**arguments, lacking.name: True}, said)
            if_yes = yes if lacking.kind is ParameterKind.SWITCH else None
            return Reply(asking(lacking), if_yes=if_yes, if_said=take, if_no=NOT_DONE)
        call = partial(self._call, tool, arguments, said)
        if tool.confirmed:
            return Reply(confirming(tool, arguments), if_yes=call, if_no=NOT_DONE)
        return await call()

    async def _take(
        self,
        tool: Tool,
        arguments: Mapping[str, Argument],
        lacking: Parameter,
        said: str,
        answer: str,
    ) -> Reply | None:
        if yes_or_no(answer, explained=True, for_words=True) is False:
            return Reply(NOT_DONE)
        value = from_answer(lacking, answer)
        if value is None:
            return None
        return await self._go_on(tool, {**arguments, lacking.name: value}, said)

    async def _call(self, tool: Tool, arguments: Mapping[str, Argument], said: str) -> Reply:
        """Use a tool. If that takes too long, return a reply that says so, and make a remark later.
        If the wait is cancelled, a remark still tells whether a change was made."""
        if self._off_record():  # perhaps only after the question was asked
            return Reply(OFF_RECORD, lasts=True)
        call = asyncio.create_task(self._used(tool, arguments, said))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)

        async def answered() -> Reply:
            return await call

        try:
            done, _ = await asyncio.wait({call}, timeout=PATIENCE_S)
        except asyncio.CancelledError:  # the user has interrupted
            if tool.read_only:
                call.cancel()
            else:  # the change may have been made
                self._remark(answered)
            raise
        if done:
            return call.result()
        self._remark(answered)
        return Reply(ONE_MOMENT, lasts=True)

    async def _used(self, tool: Tool, arguments: Mapping[str, Argument], said: str) -> Reply:
        try:
            result = await self._servers.call(tool, arguments)
        except ToolError as error:
            return Reply(spoken_error(tool, error), notice=notice(error))
        if result.failed:
            return Reply(failure(tool, result))
        if tool.read_only:
            return Reply(await answer_from(self._llm, tool, said, result))
        return Reply(receipt(result), undo=_cant_undo, undo_question=_nothing_to_undo)


def _is_likely(tool: Tool, arguments: Mapping[str, Argument], score: float) -> bool:
    """Whether the user probably means the tool that the model has chosen."""
    needed = {each.name for each in tool.parameters if each.required}
    return bool(needed & arguments.keys()) if needed else score >= LEAST_BARE


def asking(parameter: Parameter) -> str:
    """Return the question for an argument.

    >>> asking(Parameter("branch_name"))
    'What is the branch name?'
    """
    if parameter.choices:
        named = [each.replace("_", " ") for each in parameter.choices]
        some = f"{', '.join(named[:-1])} or {named[-1]}" if named[:-1] else named[0]
        return f"Which {parameter.spoken}: {some}?"
    if parameter.kind is ParameterKind.SWITCH:
        return f"{parameter.spoken.capitalize()}: yes or no?"
    several = parameter.kind is ParameterKind.TEXTS
    return f"What {'are' if several else 'is'} the {parameter.spoken}?"


def confirming(tool: Tool, arguments: Mapping[str, Argument]) -> str:
    """Return a question that asks whether to use a tool that may change something. It names all
    arguments that are passed on, except those fixed by the settings.

    >>> confirming(Tool("git", "git_create_branch"), {"branch_name": "holidays"})
    'Shall I run create branch on the git server, with the branch name holidays?'
    """
    named = ", and ".join(_named(name, each) for name, each in arguments.items())
    given = f", with {named}" if named else ""
    return f"Shall I run {tool.spoken} on the {tool.spoken_server} server{given}?"


def spoken_error(tool: Tool, error: ToolError) -> str:
    """Return the sentence for a tool that could not be used, or whose outcome is unknown."""
    late = isinstance(error, ToolLate)
    wrong = "didn't answer in time" if late else "isn't working right now"
    called = late or isinstance(error, ToolOutcomeUnknown)
    unknown = ", so I don't know whether that was done" if called and not tool.read_only else ""
    return f"The {tool.spoken_server} server {wrong}{unknown}."


def _named(name: str, value: Argument) -> str:
    """Return an argument with its name: "the branch name holidays", or "yes for force"."""
    if isinstance(value, bool):
        return f"{'yes' if value else 'no'} for {spoken_name(name)}"
    said = _and([str(each) for each in value]) if isinstance(value, list) else value
    return f"the {spoken_name(name)} {said}"


def _and(parts: Sequence[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


async def _cant_undo() -> Reply:
    return Reply(CANT_UNDO, lasts=True)


async def _nothing_to_undo() -> str:
    return ""
