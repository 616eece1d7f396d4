"""Measures how well the assistant understands commands and their arguments.

It compares the grammar alone with the grammar and the classifier together, on one part of
`data/evaluation/intents.jsonl` (with `--requests`, of `data/evaluation/requests.jsonl`). It
measures

- the share of right commands among those carried out without asking, and among deletions;
- the share of commands that are carried out or asked about, among all commands and among those that
  a person would be sure of;
- whether the arguments are the right words, and how long an utterance takes;
- how many utterances of everyday talk are carried out or asked about by mistake: of the project's
  6,354 utterances, and of conversations (`--locomo`) and read speech (`--speech`) if these are
  given.

Thresholds are chosen on `dev` and `dev2`; nobody may look at what the other parts contain.

With `--sound`, commands of part `dev` (with `--requests`, requests) are spoken by every voice on
this machine, at three speeds and with noise, and transcribed by a profile's recogniser. This shows
how many are lost because they are misheard, and how many because even their text is not understood.

`--grammar` measures the grammar alone on the utterances that it was written with
(`data/evaluation/spoken_commands.jsonl`): precision and recall by part and by kind. A command that
is mistaken for another lowers both. The grammar was written with part `a`. Each later part was
written while the grammar was frozen, was measured, and was then used to improve the grammar; after
the last part, `e`, nothing was changed. `--talk` prints what the grammar mistakes for commands
among the 6,354 utterances, for a person to check.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.common import program
from scripts.common.rows import InputUnusable
from scripts.common.utterances import DEV, EVALUATION, PARTS, REQUESTS
from scripts.eval import commands

HEADS = ("commands", "precision", "recall", "arguments")


def work(options: program.Options) -> program.Figures:
    from scripts.eval.intents import measured  # imports the memory: not for `--help`

    if options.talk:
        return _talk()
    if options.grammar:
        return _by_hand()
    if options.thresholds:
        return _thresholds(options.locomo)
    of = REQUESTS if options.requests else EVALUATION
    if options.sound:
        return _spoken(options.profile, options.commands, of)
    if options.mistakes and options.part not in DEV:
        raise InputUnusable(f"Mistakes are shown for the parts {' and '.join(DEV)} only.")
    found = measured(options.part, options.locomo, options.speech, of)
    for name, figures in found["systems"].items():
        mistakes = figures.pop("mistakes")
        print(f"\n{name}, part {found['part']}")
        _show(figures)
        if options.mistakes:
            print(*mistakes, sep="\n")
    return found


def _show(figures: Mapping[str, Any]) -> None:
    for told, share, count in (
        ("of what is done, right", "done_precision", "done"),
        ("of what is deleted, right", "deleted_precision", "deleted"),
        ("of sure commands, done", "sure_done", "sure_commands"),
        ("of sure commands, done or asked", "sure_found", "sure_commands"),
        ("of all commands, done or asked", "found", "commands"),
        ("of arguments, right", "arguments", "worded"),
        ("of other utterances, taken", "taken", "others"),
    ):
        print(f"  {told:<34}{_text(figures[share]):>8} of {figures[count]}")
    print(f"  {'kind: sure, all, commands':<34}")
    for kind, each in figures["kinds"].items():
        shares = f"{_text(each['sure_found']):>8}{_text(each['found']):>8}"
        print(f"    {kind:<32}{shares}{each['commands']:>6}")
    for name, each in figures["talk"].items():
        per = f"{each['done_per_500']} done, {each['asked_per_500']} asked in 500"
        print(f"  talk, {name:<28}{per} of {each['utterances']:,}")
    print(f"  ms per utterance                  {figures['ms']}")


def _text(share: float | None) -> str:
    return "-" if share is None else f"{share:.4f}"


def _spoken(profile: str, count: int, of: str) -> program.Figures:
    from scripts.eval.spoken_commands import spoken, table

    found = spoken(profile, count, of)
    print(*table(found), sep="\n")
    return found


def _thresholds(locomo: Path | None) -> program.Figures:
    from scripts.eval.intent_thresholds import choose

    chosen = choose(locomo)
    print(f"{'kind':<20} {'asked':>6} {'sure':>6}")
    for kind, each in chosen.items():
        print(f"{kind:<20} {each.asked:>6.2f} {each.sure:>6.2f}")
    return {kind.value: asdict(each) for kind, each in chosen.items()}


def _talk() -> program.Figures:
    found = commands.on_talk()
    for line in found["taken"]:
        print(line)
    print(f"{len(found['taken'])} of {found['utterances']:,} mistaken for commands")
    return found


def _by_hand() -> program.Figures:
    found = commands.on_utterances()
    for line in found["wrong"]:
        print(line)
    print(" " * 20 + "".join(f"{head:>10}" for head in HEADS))
    parts = {f"part {part}": figures for part, figures in found["parts"].items()}
    for name, figures in {**found["kinds"], **parts, "all": found["overall"]}.items():
        values = ("-" if figures[head] is None else figures[head] for head in HEADS)
        print(f"{name:<20}" + "".join(f"{value:>10}" for value in values))
    return found


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    parser.add_argument("--part", choices=PARTS, default="dev", help="utterances to measure")
    parser.add_argument(
        "--requests",
        action="store_true",
        help="measure requests to skills (`data/evaluation/requests.jsonl`)",
    )
    parser.add_argument(
        "--locomo", type=Path, metavar="FILE", help="conversations in LoCoMo's format"
    )
    parser.add_argument(
        "--speech", type=Path, metavar="DIR", help="folder with a manifest.jsonl that has texts"
    )
    parser.add_argument(
        "--mistakes",
        action="store_true",
        help="print what was misunderstood (parts dev and dev2 only)",
    )
    parser.add_argument(
        "--grammar",
        action="store_true",
        help="use the utterances that the grammar was written with",
    )
    parser.add_argument(
        "--talk", action="store_true", help="print talk that the grammar mistakes for commands"
    )
    parser.add_argument(
        "--thresholds",
        action="store_true",
        help="choose the thresholds of the classifier; those in use were chosen with --locomo",
    )
    parser.add_argument(
        "--sound", action="store_true", help="use commands that are spoken, and then transcribed"
    )
    program.add_profile(parser)
    program.add_number(parser, "--commands", 60, "number of commands that are spoken")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
