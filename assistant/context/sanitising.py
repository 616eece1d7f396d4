"""Makes texts safe to include in one line of the prompt.

A remembered text may contain anything, even instructions that somebody wrote for the model. So line
breaks, template marks and unbalanced brackets are removed, and the colon after a role name that
seems to begin a message is replaced by a comma. Then the text can't extend beyond its line.
"""

import re

from models.llm import without_special_tokens

_COLON = re.compile("[:：﹕]")
_NAMED = (
    r"(?:^(?:(?!\n)[\W_])*|(?<![^\W_])(?-i:(?=[A-Z])))"
    r"(?:system|user|assistant|human|ai|bot|chatbot|gpt|model|developer|tool|function|operator"
    r"|instruction|input|response|prompt|人类|指令|问|答|指示|入力|応答|명령어|입력|응답|질문|답변)s?"
    r"(?: message)?(?: \([^()\n]*\))?"
)
_WITHOUT_CAPITALS = (
    r"(?<![^\W_])(?:系[统統]|用[户戶]|助手|システム|ユーザー|アシスタント|시스템|사용자|어시스턴트)"
    r"(?:消息)?(?: ?[(（][^()（）\n]*[)）])?"
)
_ROLE = re.compile(
    rf"({_NAMED}|{_WITHOUT_CAPITALS})([\W_]*{_COLON.pattern})", re.IGNORECASE | re.MULTILINE
)
"""Matches a role name that seems to begin a message: a capitalised name, or any name at the start
of a line. The names are those that chat templates use. In scripts without capitals, the names for
system, user and assistant match anywhere in a line."""
_BULLETS = re.compile(r"^(?:[-–—*•+>#]+ )+")
_PARTNERS = dict(zip(")）﹚❩⦆⸩", "(（﹙❨⦅⸨", strict=True))
"""Closing round brackets and their lookalikes → the matching opening brackets. Such brackets
enclose the block of memories."""


def sanitised(text: str) -> str:
    """Return `text` in a form that is safe to include in one line of the prompt."""
    # Brackets first: removing one may complete a template mark or a role.
    spoken = without_roles(without_special_tokens(balanced(text)))
    return _BULLETS.sub("", " ".join(spoken.split()))


def without_roles(text: str) -> str:
    """Replace the colon after each role name that seems to begin a message with a comma."""
    return _ROLE.sub(_without_colon, text)


def balanced(text: str) -> str:
    """Remove unpaired round brackets. They could close the block of memories, or open another."""
    waiting: dict[str, list[int]] = {partner: [] for partner in _PARTNERS.values()}
    lone: set[int] = set()
    for place, letter in enumerate(text):
        if letter in waiting:
            waiting[letter].append(place)
        elif letter in _PARTNERS and waiting[_PARTNERS[letter]]:
            waiting[_PARTNERS[letter]].pop()
        elif letter in _PARTNERS:
            lone.add(place)
    lone.update(*waiting.values())
    return "".join(letter for place, letter in enumerate(text) if place not in lone)


def _without_colon(role: re.Match[str]) -> str:
    """Return a role name with a comma in place of the colon, so that it can't begin a message."""
    before, *after = _COLON.split(role[2])
    return f"{role[1]}{before.rstrip()},{''.join(after)}"
