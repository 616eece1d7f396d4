"""The doctor lists tool servers and their tools, or says why one is down."""

import pytest

from assistant.paths import Home
from assistant.settings import Settings
from tests.support.tools import shelf
from ui.commands.doctor.checks import CheckContext, CheckStatus, NotTried
from ui.commands.doctor.tool_checks import check_tools


async def test_tools_are_listed_with_what_the_user_is_asked_before(home: Home) -> None:
    finding = await check_tools(CheckContext(home, Settings(mcp={"shelf": shelf()})))

    assert finding.verdict is CheckStatus.GOOD
    assert finding.text == (
        "shelf offers count texts and, if you agree, keep text (1 more can't be used by voice)."
    )
    assert finding.figures == {"shelf": 2}


async def test_a_server_that_is_down_says_why_and_how_to_correct_it(home: Home) -> None:
    servers = {"shelf": shelf(), "lost": shelf().model_copy(update={"command": "no-such-program"})}

    finding = await check_tools(CheckContext(home, Settings(mcp=servers)))

    assert finding.verdict is CheckStatus.BAD
    assert "shelf offers count texts" in finding.text
    assert "The tool server lost can't be started: there is no program" in finding.text
    assert finding.mend == "Correct [mcp.lost] in the settings file."


async def test_without_tool_servers_nothing_is_checked(home: Home) -> None:
    with pytest.raises(NotTried):
        await check_tools(CheckContext(home, Settings()))
