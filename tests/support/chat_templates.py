"""Shortened chat templates of model families, each with the special tokens of its tokenizer.

They follow the families' published formats. If a family lacks a role, its text goes into the user's
first message.
"""

from dataclasses import dataclass

from models.llm.token_counting import ChatTemplate

_TOGETHER = (
    "{% if messages[0].role == 'system' %}{% set first = messages[0].content + '\n\n' %}"
    "{% set messages = messages[1:] %}{% else %}{% set first = '' %}{% endif %}"
)
"""For families without a system role: the first message begins with `first`."""
_WORDS = "{{ (first if loop.first else '') + m.content }}"


@dataclass(frozen=True, slots=True)
class Family:
    source: str
    marks: tuple[str, ...]
    bos: str = ""
    eos: str = ""

    @property
    def template(self) -> ChatTemplate:
        return ChatTemplate(self.source, bos=self.bos, eos=self.eos)


FAMILIES = {
    "chatml": Family(
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "<|im_start|>assistant\n",
        ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_sep|>", "<tool_call>", "<think>"),
    ),
    "llama2": Family(
        "{% if messages[0].role == 'system' %}"
        "{% set first = '<<SYS>>\n' + messages[0].content + '\n<</SYS>>\n\n' %}"
        "{% set messages = messages[1:] %}{% else %}{% set first = '' %}{% endif %}"
        "{% for m in messages %}{% if m.role == 'user' %}{{ bos_token }}[INST] "
        + _WORDS
        + " [/INST]{% else %} {{ m.content }} {{ eos_token }}{% endif %}{% endfor %}",
        ("<s>", "</s>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<unk>"),
        "<s>",
        "</s>",
    ),
    "llama3": Family(
        "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
        "{{ m.content | trim }}<|eot_id|>{% endfor %}"
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        (
            *("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>"),
            *("<|eot_id|>", "<|eom_id|>", "<|python_tag|>"),
        ),
        "<|begin_of_text|>",
        "<|eot_id|>",
    ),
    "gemma": Family(
        "{{ bos_token }}" + _TOGETHER + "{% for m in messages %}<start_of_turn>"
        "{{ 'model' if m.role == 'assistant' else m.role }}\n"
        + _WORDS
        + "<end_of_turn>\n{% endfor %}<start_of_turn>model\n",
        ("<bos>", "<eos>", "<pad>", "<start_of_turn>", "<end_of_turn>"),
        "<bos>",
        "<eos>",
    ),
    "mistral": Family(
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}[SYSTEM_PROMPT]"
        "{{ m.content }}[/SYSTEM_PROMPT]{% elif m.role == 'user' %}[INST]{{ m.content }}[/INST]"
        "{% else %}{{ m.content }}{{ eos_token }}{% endif %}{% endfor %}",
        (
            *("<s>", "</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
            *("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]"),
            *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[IMG]"),
        ),
        "<s>",
        "</s>",
    ),
    "phi": Family(
        "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
        "<|assistant|>\n",
        ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|endoftext|>"),
    ),
    "zephyr": Family(
        "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{{ eos_token }}\n{% endfor %}"
        "<|assistant|>\n",
        ("<|system|>", "<|user|>", "<|assistant|>", "</s>", "<s>"),
        "<s>",
        "</s>",
    ),
    "command-r": Family(
        "{{ bos_token }}{% for m in messages %}<|START_OF_TURN_TOKEN|>"
        "{{ {'system': '<|SYSTEM_TOKEN|>', 'user': '<|USER_TOKEN|>', "
        "'assistant': '<|CHATBOT_TOKEN|>'}[m.role] }}{{ m.content }}<|END_OF_TURN_TOKEN|>"
        "{% endfor %}<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
        (
            *("<BOS_TOKEN>", "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
            *("<|SYSTEM_TOKEN|>", "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>"),
        ),
        "<BOS_TOKEN>",
    ),
    "deepseek": Family(
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}<｜User｜>{{ m.content }}"
        "{% elif m.role == 'assistant' %}<｜Assistant｜>{{ m.content }}{{ eos_token }}"
        "{% else %}{{ m.content }}{% endif %}{% endfor %}<｜Assistant｜>",
        (
            *("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>"),
            *("<think>", "</think>"),
        ),
        "<｜begin▁of▁sentence｜>",
        "<｜end▁of▁sentence｜>",
    ),
    "harmony": Family(
        "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endfor %}"
        "<|start|>assistant",
        ("<|start|>", "<|message|>", "<|end|>", "<|channel|>", "<|return|>", "<|call|>"),
    ),
    "exaone": Family(
        "{% for m in messages %}[|{{ m.role }}|]{{ m.content }}[|endofturn|]\n{% endfor %}"
        "[|assistant|]",
        ("[|system|]", "[|user|]", "[|assistant|]", "[|endofturn|]", "[BOS]"),
    ),
    "vicuna": Family(
        _TOGETHER
        + "{% for m in messages %}{{ 'USER: ' if m.role == 'user' else 'ASSISTANT: ' }}"
        + _WORDS
        + "{{ ' ' if m.role == 'user' else eos_token }}{% endfor %}ASSISTANT:",
        ("USER:", "ASSISTANT:", "</s>", "<s>"),
        "<s>",
        "</s>",
    ),
    "alpaca": Family(
        _TOGETHER + "{% for m in messages %}"
        "{{ '### Instruction:\n' if m.role == 'user' else '### Response:\n' }}"
        + _WORDS
        + "\n\n{% endfor %}### Response:\n",
        ("### Instruction:", "### Response:", "### Input:"),
    ),
}
