"""A `world.yaml` is read whole, or refused with its file, line, field and remedy."""

from pathlib import Path

import pytest

from trainer.worlds.declaration import DeclarationError, read_declaration

GOOD = """\
name: travel
turn_limit: 16
success_metric: choice
metrics: {choice: The best option was chosen.}
events: {search_ok: A search returned options.}
editable: [env.py, personas/]
"""


def write(folder: Path, text: str) -> Path:
    (folder / "world.yaml").write_text(text, encoding="utf-8")
    return folder


def test_every_field_of_a_good_file_arrives(tmp_path: Path) -> None:
    more = "settings: {failures: 0.2}\nknobs: {haste: {type: number}}\n"
    world = read_declaration(write(tmp_path, GOOD + more))
    assert (world.name, world.turn_limit, world.metric) == ("travel", 16, "choice")
    assert dict(world.metrics) == {"choice": "The best option was chosen."}
    assert dict(world.events) == {"search_ok": "A search returned options."}
    assert world.editable == ("env.py", "personas/")
    assert world.settings == {"failures": 0.2}
    assert world.knobs == {"haste": {"type": "number"}}


def test_what_a_judge_is_asked_is_declared_with_the_numbers_that_only_it_brings(
    tmp_path: Path,
) -> None:
    assert read_declaration(write(tmp_path, GOOD)).judge is None
    more = "judge: {asks: Whether it is told., metrics: {nl_met: Share of statements.}}\n"
    judge = read_declaration(write(tmp_path, GOOD + more)).judge
    assert judge is not None
    assert (judge.asks, dict(judge.metrics)) == (
        "Whether it is told.",
        {"nl_met": "Share of statements."},
    )


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        pytest.param(GOOD + "judge: true\n", ":7:", "use a map", id="a judge without a word"),
        pytest.param(GOOD + "judge: {metrics: {}}\n", ":7:", "needs `asks:`", id="asks nothing"),
        pytest.param(
            GOOD + "judge: {asks: x, model: y}\n", ":7:", "has model", id="a judge's own field"
        ),
        pytest.param(
            GOOD + "judge: {asks: x, metrics: {choice: Again.}}\n",
            ":7:",
            "describe one that is new",
            id="a metric that is there already",
        ),
        pytest.param(GOOD + "name: x\n", ":7:1:", "duplicate", id="a key twice"),
        pytest.param(GOOD + "foo: 1\n", ":7:", "`foo` is not a field", id="an unknown field"),
        pytest.param(GOOD + "settings: {a: .nan}\n", ":7:", "finite", id="not a number"),
        pytest.param(GOOD + "settings: {d: 2020-01-01}\n", ":7:", "finite", id="a date"),
        pytest.param(GOOD + "settings: &a {b: *a}\n", ":7:", "aliases", id="an alias"),
        pytest.param(GOOD + "? [1, 2]\n: 3\n", ":", "is not a field", id="a list as a key"),
        pytest.param(GOOD.replace("16", "0"), ":2:", "from 1 to 1000", id="no turns"),
        pytest.param(GOOD.replace("16", "yes"), ":2:", "whole number", id="a word for a number"),
        pytest.param(GOOD.replace("metric: choice", "metric: [1]"), ":3:", "choice", id="a list"),
        pytest.param(GOOD.replace("metric: choice", "metric: x"), ":3:", "choice", id="unknown"),
        pytest.param(GOOD.replace("env.py", "../x"), ":6:", "inside", id="a path that climbs"),
        pytest.param(GOOD.replace("env.py", "/etc"), ":6:", "inside", id="an absolute path"),
        pytest.param(GOOD.replace("env.py", "gold/a"), ":6:", "never editable", id="gold"),
        pytest.param(GOOD.replace("turn_limit: 16\n", ""), ":", "is missing", id="a field missing"),
        pytest.param("[" * 20_000, ":1:", "nested deeper", id="a tower of brackets"),
        pytest.param("a: [\n", ":2:1:", "mend the YAML", id="half a file"),
        pytest.param("a: 1\n---\nb: 2\n", ":2:1:", "mend the YAML", id="two documents"),
        pytest.param("", ":", "must be a map", id="empty"),
        pytest.param("\x00", ":", "not YAML", id="a control character"),
        pytest.param("a: " + "x" * 70_000, ":", "larger than", id="a large file"),
        pytest.param("a: !!python/name:os.system\n", ":", "", id="a Python tag"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(
    tmp_path: Path, text: str, where: str, says: str
) -> None:
    with pytest.raises(DeclarationError) as refusal:
        read_declaration(write(tmp_path, text))
    message = str(refusal.value)
    assert message.startswith(f"{tmp_path / 'world.yaml'}{where}")
    assert says in message


def test_a_missing_file_and_a_directory_in_its_place_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="No such file"):
        read_declaration(tmp_path)
    (tmp_path / "world.yaml").mkdir()
    with pytest.raises(DeclarationError, match="directory"):
        read_declaration(tmp_path)


def test_bytes_that_are_not_utf8_are_refused_by_their_position(tmp_path: Path) -> None:
    (tmp_path / "world.yaml").write_bytes(b"name: \xff")
    with pytest.raises(DeclarationError, match="byte 6 is not UTF-8"):
        read_declaration(tmp_path)
