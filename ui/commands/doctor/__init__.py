"""`assistant doctor`: runs checks of this machine in turn, and says how to fix problems."""

import argparse
import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import TextIO

from assistant.errors import AssistantError, SettingsError
from assistant.paths import Home
from ui.commands import ReadSettings
from ui.commands.doctor import checks, network_checks, sound_checks, tool_checks
from ui.commands.doctor.checks import CheckContext, CheckStatus, Finding, NotTried
from ui.process.console import print_result, runnable_hint
from ui.process.logs import redirected_output

logger = logging.getLogger(__name__)

Check = Callable[[CheckContext], Awaitable[Finding]]

CHECKS: tuple[tuple[str, Check], ...] = (
    ("Python", checks.check_python),
    ("Memory", checks.check_memory),
    ("Disk", checks.check_disk),
    ("Encryption", checks.check_encryption),
    ("Models", checks.check_models),
    ("Memories", checks.check_store),
    ("Sound devices", sound_checks.check_devices),
    ("Microphone", sound_checks.check_microphone),
    ("Echo", sound_checks.check_echo),
    ("Loading", checks.check_loading),
    ("Speaking", checks.check_voice),
    ("Hearing", checks.check_hearing),
    ("Thinking", checks.check_thinking),
    ("Tools", tool_checks.check_tools),
    ("Network", network_checks.check_network),
)
"""The checks, in the order in which they run: `Hearing` transcribes the speech of `Speaking`, and
`Network` comes last because it takes longest."""

BY_WORD = {name.lower().replace(" ", "-"): name for name, _ in CHECKS}
"""The checks' names, by the word that chooses the check on the command line."""

SIGNS = {
    CheckStatus.GOOD: "✓",
    CheckStatus.WARNING: "!",
    CheckStatus.BAD: "✗",
    CheckStatus.UNTRIED: "·",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check Python, memory, disk, models and sound, and how fast the models are. Records the "
        "room for a second, and plays a short sound. Exits with 1 if something needs fixing."
    )
    parser.add_argument(
        "checks",
        nargs="*",
        metavar="CHECK",
        help=f"run only these checks: {', '.join(BY_WORD)} (default: all)",
    )


def run(args: argparse.Namespace, home: Home, settings: ReadSettings) -> int:
    """Run the chosen checks; return 1 if something needs fixing, otherwise 0.

    Raises:
        SettingsError: there is no such check.
    """
    for word in args.checks:
        if word not in BY_WORD:
            known = ", ".join(BY_WORD)
            raise SettingsError(f"There is no check `{word}`. Checks: {known}.")
    chosen = {BY_WORD[word] for word in args.checks or BY_WORD}
    wanted = [(name, check) for name, check in CHECKS if name in chosen]
    context = CheckContext(home, settings().settings)
    with redirected_output(home) as out:
        return asyncio.run(run_checks(context, wanted, out, as_json=args.json))


async def run_checks(
    context: CheckContext, wanted: Sequence[tuple[str, Check]], out: TextIO, *, as_json: bool
) -> int:
    """Run the checks in order, and print each finding as soon as it is known.

    A failed check doesn't stop the others. Returns 1 if any check found something that needs
    fixing, otherwise 0.
    """
    bad = 0
    try:
        for name, check in wanted:
            finding = await _finding(name, check, context)
            bad += finding.verdict is CheckStatus.BAD
            row = {"event": "check", "name": name, **asdict(finding)}
            lines = [f"{SIGNS[finding.verdict]} {name}: {finding.text}"]
            if finding.mend:
                lines.append(f"    → {runnable_hint(finding.mend)}")
            print_result(row, *lines, as_json=as_json, out=out)
    finally:
        await context.close()
    row = {"event": "doctor", "ok": not bad, "bad": bad}
    what = "1 thing needs" if bad == 1 else f"{bad} things need"
    text = f"\n{what} fixing." if bad else "\nAll is well."
    print_result(row, text, as_json=as_json, out=out)
    return 1 if bad else 0


async def _finding(name: str, check: Check, context: CheckContext) -> Finding:
    try:
        return await check(context)
    except NotTried as error:
        return Finding(CheckStatus.UNTRIED, str(error))
    except AssistantError as error:
        return Finding(CheckStatus.BAD, str(error), error.mend)
    except Exception as error:
        logger.exception("The check %s failed", name)
        return Finding(
            CheckStatus.BAD,
            f"The check itself failed ({type(error).__name__}).",
            f"The details are in {context.home.log}.",
        )
