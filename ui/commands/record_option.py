"""The `--record` option of commands that hold a conversation."""

import argparse
from pathlib import Path


def add_record(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--record",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="FILE",
        help="record the conversation for replay; default: in your data folder",
    )
