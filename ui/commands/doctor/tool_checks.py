"""The doctor's check of tool servers."""

from assistant.tool_servers import ServerReport, ToolServers
from ui.commands.doctor.checks import CheckContext, CheckStatus, Finding, NotTried, bad, good


async def check_tools(context: CheckContext) -> Finding:
    """Start the tool servers that the settings name, and list what they offer.

    Raises:
        NotTried: the settings name none.
    """
    if not context.settings.mcp:
        raise NotTried("The settings name no tool servers.")
    servers = ToolServers(context.settings.mcp)
    servers.start()
    try:
        reports = await servers.settled()
    finally:
        await servers.close()
    return judge(reports)


def judge(reports: list[ServerReport]) -> Finding:
    """Return the finding for these servers."""
    text = " ".join(map(_described, reports))
    figures = {each.name: len(each.tools) for each in reports}
    down = [each.name for each in reports if each.problem]
    if down:
        tables = " and ".join(f"[mcp.{name}]" for name in down)
        return bad(text, f"Correct {tables} in the settings file.", **figures)
    useless = [each.name for each in reports if not each.tools]
    if useless:
        return Finding(CheckStatus.WARNING, text, figures=figures)
    return good(text, **figures)


def _described(report: ServerReport) -> str:
    if report.problem:
        return report.problem if report.problem.endswith(".") else f"{report.problem}."
    at_once = [each.spoken for each in report.tools if not each.confirmed]
    asked = [each.spoken for each in report.tools if each.confirmed]
    parts = [f"{report.name} offers {', '.join(at_once)}"] if at_once else []
    if asked:
        begun = "and, if you agree," if at_once else f"{report.name} offers, if you agree,"
        parts.append(f"{begun} {', '.join(asked)}")
    if not parts:
        parts.append(f"{report.name} offers no tool that can be used by voice")
    elif report.unusable:
        parts.append(f"({report.unusable} more can't be used by voice)")
    return f"{' '.join(parts)}."
