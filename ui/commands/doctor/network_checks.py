"""The doctor's network check, which tests that no data leaves this machine."""

import asyncio
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

import psutil

from ui.commands.doctor.checks import CheckContext, CheckStatus, Finding, NotTried, bad, good
from ui.network_audit.audit import Attempt
from ui.network_audit.conversation import Watched, converse_under_watch

MOST_NAMED = 5
TOOL_SERVERS = (
    "Your tool servers were not part of it: they are other programs, and may use the network."
)
REPORT = "Please report this: nothing should leave this machine."


async def check_network(context: CheckContext) -> Finding:
    """Hold a conversation in a separate process, and report its attempts to reach other machines.

    Raises:
        NotTried: the settings use a model server on another machine. The message lists the sockets
            that reach beyond this machine.
    """
    await context.models()
    outside = sorted(set(await asyncio.to_thread(connections_outside)))
    if server := _server_elsewhere(context.settings.llm.endpoint):
        raise NotTried(
            f"The settings use the model server {server}, so the trial conversation without a"
            f" network was skipped. Open sockets to other machines: {', '.join(outside) or 'none'}."
        )
    if outside:
        text = f"Sockets of this program reach beyond this machine: {', '.join(outside)}."
        return bad(text, REPORT)
    watched = await converse_under_watch(context.settings)
    return judge(watched, tool_servers=bool(context.settings.mcp))


def judge(watched: Watched, *, tool_servers: bool = False) -> Finding:
    """Return the finding for an observed conversation.

    The finding is never good if something could not be observed.

    Args:
        tool_servers: whether the settings name tool servers, which the conversation did not use.
    """
    figures = {"seconds": round(watched.seconds, 1), "attempts": _total(watched.attempts)}
    if watched.attempts:
        return bad(_summary(watched.attempts), REPORT, **figures)
    if watched.blind_spot is not None:
        text = f"{watched.blind_spot} No attempt to leave this machine was seen."
        return Finding(CheckStatus.UNTRIED, text, figures=figures)
    return good(
        f"In a conversation of {watched.seconds:.0f} s, with memory, recall, forgetting and idle "
        "work, nothing tried to connect beyond this machine or to look up a name."
        + (f" {TOOL_SERVERS}" if tool_servers else ""),
        **figures,
    )


def connections_outside() -> Sequence[str]:
    """Return the sockets of this process and its children that reach beyond this machine.

    These are connections to other machines, and sockets on which other machines could connect.
    """
    here = psutil.Process()
    found = []
    for process in (here, *here.children(recursive=True)):
        for connection in process.net_connections(kind="inet"):
            listens = connection.status == psutil.CONN_LISTEN
            end = connection.laddr if listens else connection.raddr
            if end and not is_loopback(end.ip):
                found.append(f"{process.name()} {end.ip}:{end.port}")
    return found


def is_loopback(address: str) -> bool:
    parsed = ip_address(address.partition("%")[0])
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


def _server_elsewhere(endpoint: str | None) -> str | None:
    """Return the host of the model server, or None if it is on this machine.

    Args:
        endpoint: the server's address; None if the settings use no model server.
    """
    host = urlsplit(endpoint or "").hostname
    if host is None or host == "localhost":
        return None
    try:
        return None if is_loopback(host) else host
    except ValueError:
        return host  # a name


def _total(attempts: Sequence[Attempt]) -> int:
    return sum(each.times for each in attempts)


def _summary(attempts: Sequence[Attempt]) -> str:
    named = [
        f"{each.library} tried to reach {each.target}"
        + (f" ({each.times} times)" if each.times > 1 else "")
        for each in attempts[:MOST_NAMED]
    ]
    more = len(attempts) - len(named)
    rest = f"; and {more} more" if more else ""
    return f"Refused {_total(attempts)} attempts to leave this machine: {'; '.join(named)}{rest}."
