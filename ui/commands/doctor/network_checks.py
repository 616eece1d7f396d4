"""The doctor's network check: nothing may leave this machine."""

import asyncio
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

import psutil

from ui.commands.doctor.checks import CheckContext, CheckStatus, Finding, NotTried, bad, good
from ui.network_audit.audit import Attempt
from ui.network_audit.conversation import Watched, converse_under_watch

MOST_NAMED = 5
REPORT = "Please report this: nothing should leave this machine."


async def check_network(context: CheckContext) -> Finding:
    """Hold a conversation in a process that may only reach this machine, and count every attempt.

    If the settings use a model server on another machine, only the open sockets are checked.
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
    return judge(await converse_under_watch(context.settings))


def judge(watched: Watched) -> Finding:
    """The finding, which is never good if something could not be observed."""
    figures = {"seconds": round(watched.seconds, 1), "attempts": _total(watched.attempts)}
    if watched.attempts:
        return bad(_summary(watched.attempts), REPORT, **figures)
    if watched.blind_spot is not None:
        text = f"{watched.blind_spot} No attempt to leave this machine was seen."
        return Finding(CheckStatus.UNTRIED, text, figures=figures)
    return good(
        f"In a conversation of {watched.seconds:.0f} s, with memory, recall, forgetting and idle "
        "work, nothing tried to connect beyond this machine or to look up a name.",
        **figures,
    )


def connections_outside() -> Sequence[str]:
    """Sockets of this process and its children that reach or listen beyond loopback."""
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
    """The host of a model server that is not on this machine, if any."""
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
