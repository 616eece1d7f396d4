"""Recognises lasting instructions: "always answer in one sentence", "never tell me jokes"."""

import re

WISHED = re.compile(
    r"(?:please )?(?:(?P<how>always|never|don't ever|from now on)\b,?(?: please)? "
    r"(?:give|use|speak|talk|answer|reply|respond|explain|call|read|keep (?:it|your|answers|the)|"
    r"shout|swear|whisper|wake|ask|interrupt|tell me|spell|pronounce|remind me|greet|address|round|"
    r"convert|translate|recommend|suggest|offer|say(?! never)|mention(?! it))\b"
    r"|(?P<stop>stop) (?:telling|calling|asking|giving|reminding) me\b"
    r"(?!.*\b(?:that|this|it|now|today)\b))",
    re.IGNORECASE,
)
"""An instruction about how to answer that is meant to last."""
