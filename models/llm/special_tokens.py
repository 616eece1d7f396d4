"""Keeps special tokens out of messages, so that no model takes anything in them for structure.

A chat template puts messages between marks (`<|im_end|>`, `[/INST]`, `</s>`), and engines look for
these marks in the whole rendered prompt, including the words that somebody said. So a blank is
inserted into each sequence that some template or tokenizer takes for a mark: a special token is
recognised by its exact spelling only. The text that is stored and shown is unchanged; only an
engine receives the changed text.

Marks are recognised by shape, since there are more of them than any list holds:

    < or [ beside |, and lookalikes    ChatML, Llama 3, Phi, Zephyr, Command R, DeepSeek, EXAONE …
    <word>, </word>, <start_of_turn>   SentencePiece's own, Gemma, Ling, thinking, tools; a tag
                                       with one plain word counts as ordinary text unless some
                                       model uses it
    [INST], [/TOOL_CALLS], [gMASK]     Llama 2, Mistral, ChatGLM: a word with capitals or _
    >>QUESTION<<, ]~b]                 Falcon, MiniMax
    ### Instruction:, USER:            templates that use words as marks
"""

import re
from collections.abc import Sequence

from models.interfaces import Message

_LINE_END = re.compile("\r\n?|[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")
"""All character sequences that some program takes for a line end."""

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\ufdd0-\ufdef\ufeff\ufff0-\ufffb"
    "\ufffe\uffff\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\ud800-\udfff"
    + "".join(chr(plane << 16 | end) for plane in range(1, 17) for end in (0xFFFE, 0xFFFF))
    + "]"
)
"""Control, format and direction characters, lone surrogates and non-characters. Spaces, tabs and
line feeds are kept."""

_BARS = "|｜∣￨❘│┃¦ǀ"
_OPEN, _CLOSE = r"<＜﹤‹〈⟨\[［", r">＞﹥›〉⟩\]］"
_ALONE = rf"\x00-\x7f{_BARS}{_OPEN}{_CLOSE}"
_JOINERS = re.compile(rf"(?<![^{_ALONE}])[\u200c\u200d]+|[\u200c\u200d]+(?![^{_ALONE}])")
"""Zero-width joiners belong between letters of scripts that join, and in emoji; in ASCII and next
to a bracket they only serve to hide something."""
_BESIDE_BAR = re.compile(rf"(?<=[{_OPEN}])(?=[{_BARS}])|(?<=[{_BARS}])(?=[{_CLOSE}])")
_TILDE = re.compile(r"(?<=[\[\]])(?=~)|(?<=~)(?=[\[\]])|(?<=~!b)(?=\[)")
_TAG = re.compile(r"(?<=[<＜﹤])(?=/?([^\s<>＜＞﹤﹥/]{1,64})/?[>＞﹥])")
_PLAIN_WORD = re.compile(r"[a-z]+\Z")
_SQUARE = re.compile(r"(?<=[\[［])(?=/?(\w{1,64})[\]］])")
_LIKE_TOKEN = re.compile(r"_|[A-Z][A-Z]|multimodal\Z")
_FALCON = re.compile(r"(?<=>>)(?=[A-Z]+<<)")
_BRACKET = re.compile(rf"[{_OPEN}{_CLOSE}]")
_WORD_MARK = re.compile(
    r"((?<!#)#{2,}\s*(?:instructions?|inputs?|responses?|prompt|system|user|assistant|human"
    r"|指示|入力|応答|명령어|입력|응답|질문|답변)"
    r"|\b(?-i:USER|ASSISTANT|SYSTEM|HUMAN))\s*:",
    re.IGNORECASE,
)
TAG_WORDS = frozenset(
    {
        *("s", "bos", "eos", "pad", "unk", "mask", "cls", "sep", "eod", "eot", "eom"),
        *("eoa", "eoh", "eoc", "eop", "eor", "sop", "n", "end", "predict"),
        *("think", "thinking", "thought", "reasoning", "answer", "response"),
        *("tool", "tools", "function", "functions", "invoke", "parameter"),
        *("result", "results", "output", "observation", "document", "documents", "code"),
        *("role", "system", "developer", "user", "human", "prompter", "assistant", "bot"),
        *("chatbot", "ai", "model", "message", "instruction", "instructions", "prompt"),
        *("image", "img", "audio", "speech", "video", "box", "quad", "ref"),
        *("filename", "reponame", "commit"),
    }
)
"""Words that alone form a tag in some vocabulary or template, or that name a speaker."""


def without_special_tokens(text: str) -> str:
    """`text` without marks or invisible characters; each line end becomes one line feed.

    Idempotent.
    """
    if not text.replace("\n", " ").isprintable():
        text = _JOINERS.sub("", _INVISIBLE.sub("", _LINE_END.sub("\n", text)))
    # Written out, not a loop: this runs for every message of a prompt.
    if "##" in text or "USER" in text or "ASSISTANT" in text or "SYSTEM" in text or "HUMAN" in text:
        text = _WORD_MARK.sub(r"\1,", text)
    if _BRACKET.search(text):
        for mark in (_BESIDE_BAR, _TILDE, _FALCON):
            text = mark.sub(" ", text)
        text = _SQUARE.sub(_parted_square, _TAG.sub(_parted_tag, text))
    return text


def engine_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages in the form that chat interfaces and templates take. Every message that an engine
    receives passes through here."""
    return [
        {"role": each.role, "content": without_special_tokens(each.content)} for each in messages
    ]


def _parted_tag(tag: re.Match[str]) -> str:
    return "" if _PLAIN_WORD.match(tag[1]) and tag[1] not in TAG_WORDS else " "


def _parted_square(found: re.Match[str]) -> str:
    return " " if _LIKE_TOKEN.search(found[1]) else ""
