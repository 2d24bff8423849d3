"""A file cut anywhere while it is saved is never taken for a value that nobody wrote."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.contract import knobs
from tests.contract.knobs import material
from tests.contract.knobs.material import content

NEW = {
    "user": content("user", "worlds", "\n  travel:\n    facts_per_reply: 2\n    persona: zürich"),
    "environment": content("environment", "task_mix", "{travel: 0.25, intention: 0.75}"),
    "reward": content(
        "reward",
        "shaping",
        "\n- {id: first_tool, event: tool, value: 0.02}  # end of rules\n"
        "- id: first_uid\n  event: found\n  value: 0.07",
    ),
    "agent": content("agent", "entropy_coeff", "0.004").replace(
        b"actor_lr: 1.0e-06", b"actor_lr: 3.25e-06"
    ),
}


@pytest.mark.parametrize("file", knobs.FILES)
def test_no_cut_of_a_valid_file_yields_a_value_of_neither_version(file: str) -> None:
    text = NEW[file]
    whole = knobs.parse(file, text, worlds=material.WORLDS).values
    accepted: list[int] = []
    for length in range(len(text)):
        try:
            parsed = knobs.parse(file, text[:length], worlds=material.WORLDS)
        except knobs.NotReady:
            continue
        assert parsed.values == whole
        accepted.append(length)
    # Without its last line break the file is whole; one byte less and it is not.
    assert accepted == [len(text) - 1]


@settings(deadline=None, max_examples=30)
@given(material.files("reward"), st.data())
def test_no_cut_of_a_random_file_yields_another_value(
    values: dict[str, Any], data: st.DataObject
) -> None:
    everything = {**knobs.defaults().to_json(), "reward": values}
    desired = knobs.from_values(everything, worlds=material.WORLDS)
    text = knobs.render("reward", desired)
    length = data.draw(st.integers(0, len(text) - 2))
    with pytest.raises(knobs.NotReady):
        knobs.parse("reward", text[:length], worlds=material.WORLDS)


def test_a_comment_that_a_cut_would_turn_into_the_last_line_is_refused() -> None:
    text = content("reward", "task_weight", f"1.0\n{knobs.END} and more")
    refused = material.refusal("reward", text)
    assert "too early" in refused.findings[0].message
    assert refused.findings[0].line == material.line_of(text, f"{knobs.END} and")


def test_whatever_follows_the_last_line_is_refused() -> None:
    refused = material.refusal("reward", content("reward") + b"task_weight: 2.0\n")
    assert isinstance(refused, knobs.NotReady)
    assert refused.findings[0].rule == "knobs.unfinished"


def test_the_refusal_of_a_cut_file_says_how_to_finish_it_and_hides_no_other_fault() -> None:
    text = content("agent", "gamma", "7.0").replace(knobs.END.encode(), b"")
    half, gamma = material.refusal("agent", text).findings
    assert half.next_step == f"Save it again, or add the last line `{knobs.END}` if it was removed."
    assert gamma.path == "agent.gamma"


def test_a_cut_file_is_not_blamed_for_what_its_rest_would_have_said() -> None:
    (finding,) = material.refusal("agent", content("agent")[:700]).findings
    assert finding.rule == "knobs.unfinished"
