"""Breaks up special tokens in messages, so that no model mistakes a message's text for structure.

A chat template puts messages between special tokens, such as `<|im_end|>`, `[/INST]` or `</s>`.
Engines look for these tokens in the whole rendered prompt, including the words that somebody said.
So a space is inserted into each sequence that some template or tokenizer treats as special. This is
enough, because a special token is recognised by its exact spelling only. The text that is stored
and shown is unchanged; only engines receive the changed text.

There are too many special tokens for a list, so they are recognised by their shape:

    < or [ beside |, and lookalikes    ChatML, Llama 3, Phi, Zephyr, Command R, DeepSeek, EXAONE …
    <word>, </word>, <start_of_turn>   SentencePiece's own, Gemma, Ling, thinking, tools; a plain
                                       word counts only if some model uses it (`TAG_WORDS`)
    [INST], [/TOOL_CALLS], [gMASK]     Llama 2, Mistral, ChatGLM: a word with capitals or _
    >>QUESTION<<, ]~b]                 Falcon, MiniMax
    ### Instruction:, USER:            templates that mark speakers by words; here, the colon
                                       becomes a comma
"""

import re
from collections.abc import Sequence

from models.interfaces import Message

_LINE_END = re.compile("\r\n?|[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")
"""Matches every character sequence that some program treats as a line end."""

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\ufdd0-\ufdef\ufeff\ufff0-\ufffb"
    "\ufffe\uffff\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\ud800-\udfff"
    + "".join(chr(plane << 16 | end) for plane in range(1, 17) for end in (0xFFFE, 0xFFFF))
    + "]"
)
"""Matches control, format and direction characters, lone surrogates and non-characters. Spaces,
tabs and line feeds are not matched."""

_BARS = "|｜∣￨❘│┃¦ǀ"
_OPEN, _CLOSE = r"<＜﹤‹〈⟨\[［", r">＞﹥›〉⟩\]］"
_ALONE = rf"\x00-\x7f{_BARS}{_OPEN}{_CLOSE}"
_JOINERS = re.compile(rf"(?<![^{_ALONE}])[\u200c\u200d]+|[\u200c\u200d]+(?![^{_ALONE}])")
"""Matches zero-width joiners in ASCII text or next to a bracket, where they only serve to hide
something. Joiners between letters of scripts that join, and in emoji, are not matched."""
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
"""Words that some vocabulary or template uses as a tag, or that name a speaker."""


def without_special_tokens(text: str) -> str:
    """Return `text` without special tokens and invisible characters. Idempotent.

    Special tokens are broken up, usually by a space. Each line end becomes one line feed.
    """
    if not text.replace("\n", " ").isprintable():
        text = _JOINERS.sub("", _INVISIBLE.sub("", _LINE_END.sub("\n", text)))
    # Not a loop, which would be slower: this runs for every message of a prompt.
    if "##" in text or "USER" in text or "ASSISTANT" in text or "SYSTEM" in text or "HUMAN" in text:
        text = _WORD_MARK.sub(r"\1,", text)
    if _BRACKET.search(text):
        for mark in (_BESIDE_BAR, _TILDE, _FALCON):
            text = mark.sub(" ", text)
        text = _SQUARE.sub(_parted_square, _TAG.sub(_parted_tag, text))
    return text


def engine_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return the messages in the form that chat interfaces and templates take.

    Every message for an engine passes through here, so that none contains special tokens.
    """
    return [
        {"role": each.role, "content": without_special_tokens(each.content)} for each in messages
    ]


def _parted_tag(tag: re.Match[str]) -> str:
    return "" if _PLAIN_WORD.match(tag[1]) and tag[1] not in TAG_WORDS else " "


def _parted_square(found: re.Match[str]) -> str:
    return " " if _LIKE_TOKEN.search(found[1]) else ""
