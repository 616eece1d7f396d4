"""What a session that stores nothing replies to commands about memories."""

from assistant.intents.command import Command, CommandKind, Intent
from assistant.skills.memory.nothing_kept import NothingKept
from assistant.skills.registry import SkillRegistry


async def test_corrections_and_wishes_are_left_to_the_model() -> None:
    for transcript in (True, False):
        skills = SkillRegistry([NothingKept(transcript=transcript)])
        for kind in (CommandKind.CORRECT, CommandKind.LIFT):
            assert await skills.carry_out(Intent(Command(kind))) is None
        reply = await skills.carry_out(Intent(Command(CommandKind.REMEMBER)))
        assert reply is not None
        assert reply.text == "I'm not keeping anything in this session."
