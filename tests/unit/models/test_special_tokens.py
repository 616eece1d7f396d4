"""Special tokens of chat templates are broken up in the text of messages."""

import unicodedata
from random import Random

import pytest

from models.interfaces import Message
from models.llm.special_tokens import engine_messages, without_special_tokens
from tests.support.poison import ATTACKS, WISHES

FAMILIES = {
    "ChatML": "<|im_start|> <|im_end|> <|endoftext|> <|im_sep|>",
    "Llama 2": "<s> </s> [INST] [/INST] <<SYS>> <</SYS>>",
    "Llama 3": "<|begin_of_text|> <|start_header_id|> <|end_header_id|> <|eot_id|> <|python_tag|>",
    "Llama 4": "<|header_start|> <|header_end|> <|eot|>",
    "Gemma": "<bos> <eos> <pad> <start_of_turn> <end_of_turn> <unused12> <|turn> <turn|>",
    "Mistral": "[SYSTEM_PROMPT] [/SYSTEM_PROMPT] [AVAILABLE_TOOLS] [TOOL_CALLS] [IMG] [control_8]",
    "Phi": "<|system|> <|user|> <|assistant|> <|end|>",
    "Command R": "<|START_OF_TURN_TOKEN|> <|SYSTEM_TOKEN|> <|END_OF_TURN_TOKEN|> <BOS_TOKEN>",
    "DeepSeek": "<｜begin▁of▁sentence｜> <｜User｜> <｜Assistant｜> <｜tool▁calls▁begin｜>",
    "GPT": "<|start|> <|channel|> <|message|> <|return|> <|fim_prefix|>",
    "Qwen": "<tool_call> </tool_call> <think> </think> <|vision_start|> <tool_response>",
    "StarCoder": "<repo_name> <reponame> <file_sep> <filename> <gh_stars> <fim_prefix>",
    "Falcon": ">>QUESTION<< >>ANSWER<<",
    "ChatGLM": "[gMASK] <sop> <|observation|> [MASK]",
    "InternLM": "<eoh> <eoa> <TOKENS_UNUSED_140>",
    "EXAONE": "[|system|] [|endofturn|]",
    "MiniMax": "]~!b[ ]~b] [e~[",
    "Seed": "<seed:bos> <seed:think> </seed:think>",
    "T5": "<extra_id_0> <unk> <mask>",
    "BERT": "[CLS] [SEP] [UNK] [PAD]",
    "Baichuan": "<reserved_106>",
    "Ling, LLaDA-MoE": "<role> </role> <|role_end|>",
    "MOSS": "<eoh> <eoc> <eot> <eor> <eom>",
    "Yuan": "<sep> <eod> <n> <predict>",
    "CuteGPT": "<end>",
    "InternVL, Qwen-VL": "<img> </img> <box> </box> <quad> <ref> </ref>",
    "MiniMax M2": "<minimax:tool_call> <invoke> </invoke> <parameter> <response> </response>",
    "RedPajama": "<human> <bot>",
    "MiniCPM": "<用户> <AI>",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_special_token_of_any_family_stays_whole(family: str) -> None:
    for mark in FAMILIES[family].split():
        for said in (mark, f"a{mark}b", f"{mark}{mark}", f"<{mark}>", f"[{mark}]", f" {mark}\n"):
            assert mark not in without_special_tokens(said), said
        assert without_special_tokens(mark).replace(" ", "") == mark, "no letter is lost"


@pytest.mark.parametrize("family", FAMILIES)
def test_no_attack_forms_a_special_token(family: str) -> None:
    for name, attack in ATTACKS.items():
        left = without_special_tokens(attack)
        assert not [mark for mark in FAMILIES[family].split() if mark in left], name


def test_some_attacks_try_the_tags_that_name_a_speaker() -> None:
    assert sum("<role>" in attack for attack in ATTACKS.values()) >= 3


@pytest.mark.parametrize(
    "mark",
    [
        *("### Instruction:", "### Response :", "## user:", "USER:", "### Prompt:"),
        *("### 指示:", "### 応答:", "### 명령어:", "### 응답:"),
    ],
)
def test_words_that_some_template_uses_as_speaker_labels_lose_their_colon(mark: str) -> None:
    assert ":" not in without_special_tokens(f"{mark} hello")


def test_a_token_nested_in_itself_does_not_come_back() -> None:
    assert "<|im_start|>" not in without_special_tokens("<|im_<|im_start|>start|>")
    assert "[INST]" not in without_special_tokens("[/IN\u200dST][[INST]INST][IN\x00ST]").replace(
        "[ ", "[x"
    )
    assert "<|im_start|>" not in without_special_tokens("<|im\u200b_st\x00art|>")


def test_ordinary_text_is_unchanged() -> None:
    for key, (text, kept) in WISHES.items():
        assert kept in without_special_tokens(text), key
    for said in (
        "x < 3, y > 4 and a|b; if (a[i] < b[j]) { swap(a, b); }",
        "I ❤️ 👨\u200d👩\u200d👧, می\u200cخواهم, naïve — “quoted” [sic] <b>bold</b> <marquee>",
        "First line\n\n  second line\n- a list",
        "System: it is a word of talk. User: too. ### is a heading",
    ):
        assert without_special_tokens(said) == said


def test_invisible_and_invalid_characters_are_removed() -> None:
    for code in range(0x110000):
        letter = chr(code)
        kind = unicodedata.category(letter)
        if kind in {"Cs", "Zl", "Zp"} or (kind == "Cc" and letter not in "\n\t"):
            assert without_special_tokens(letter) in {"", "\n"}, hex(code)
        elif kind == "Cf" and without_special_tokens(letter) == letter:
            assert "NUMBER" in (name := unicodedata.name(letter)) or any(
                word in name for word in ("SIGN", "MARK", "END OF AYAH", "FOOTNOTE")
            ), f"{name} is visible"
    assert without_special_tokens("a\ufdd0\uffff\U0001fffeb") == "ab"
    assert without_special_tokens("I\u200d\u200cN é\u200dé \u200d") == "IN é\u200dé "
    assert without_special_tokens("a\r\nb\rc\u2028d\x85e\x0bf") == "a\nb\nc\nd\ne\nf"


def test_breaking_up_tokens_is_idempotent() -> None:
    alphabet = ["<", "|", ">", "[", "]", "/", "INST", "s", "_", "~", "!b", "\u200d", "é", "#"]
    alphabet += ["\r", "\n", " ", "USER", ":", "### user", "｜", "＜", "＞", ">>", "<<", "A", "im"]
    random = Random(1)
    made = ("".join(random.choices(alphabet, k=random.randint(1, 12))) for _ in range(5_000))
    for said in (*ATTACKS.values(), *made):
        once = without_special_tokens(said)
        assert without_special_tokens(once) == once, repr(said)


def test_long_runs_are_handled_quickly() -> None:
    for run in ("<", "[", "#", "A", "<|", "[A", ">>", "\u200d", "[" + "A" * 60, "USER ", "~b", " "):
        without_special_tokens(run * (200_000 // len(run)))


def test_messages_reach_an_engine_without_special_tokens() -> None:
    messages = [Message("system", "Be kind."), Message("user", "Hi <|im_end|>")]
    assert engine_messages(messages) == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hi < |im_end| >"},
    ]
