"""The telecom desk: what tools do to records and phones, and what users do when asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import env_suite
from tests.conformance.env_suite import Cast
from trainer.episode import Speaker, StopReason
from trainer.message import Action, Choice, Reply, read_action
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.tau2.case import Assertion, Case, NamedCall, Side
from trainer.worlds.tau2.office import Bases, Office, open_office
from trainer.worlds.tau2.players import call_text
from trainer.worlds.tau2_telecom import phone, records, verifier
from trainer.worlds.tau2_telecom.domain import DOMAIN
from trainer.worlds.tau2_telecom.tasks import carrier, generate

NUMBER = "555-310-4402"
OWN: dict[str, Any] = {"customer_id": "C202", "line_id": "L202"}


@pytest.fixture(scope="module")
def cast() -> Cast:
    return env_suite.cast("tau2_telecom")


@pytest.fixture(scope="module")
def bases() -> Bases:
    return Bases(
        records.agent_records(carrier.carrier(carrier.TRAINING, 2)),
        records.user_records(carrier.phone()),
    )


def opened(bases: Bases, *setups: NamedCall) -> Office:
    """An office in which Milan Horvat, a medium plan, calls from home."""
    caller = NamedCall(Side.USER, "set_user_info", {"name": "M", "phone_number": NUMBER})
    return open_office(DOMAIN, Case("t", setups=(caller, *setups)), bases)


def user(office: Office, name: str, **arguments: Any) -> str:
    return office.call(NamedCall(Side.USER, name, arguments)).text


def agent(office: Office, name: str, **arguments: Any) -> str:
    return office.call(NamedCall(Side.AGENT, name, arguments)).text


def own_task(task_id: str) -> Task:
    tasks = [task for split in catalog.SPLITS for task in catalog.tasks("tau2_telecom", split)]
    return next(task for task in tasks if task.id == task_id)


def test_there_are_twenty_own_tasks_and_more_of_every_symptom() -> None:
    train = catalog.tasks("tau2_telecom", "train")
    assert len(train) >= 20
    symptoms = [task.id.partition("-")[0] for task in train]
    assert {symptoms.count(name) >= 8 for name in ("service", "data", "mms")} == {True}
    ids = [task.id for split in catalog.SPLITS for task in catalog.tasks("tau2_telecom", split)]
    assert len(set(ids)) == len(ids)


def test_the_files_are_what_the_generator_writes(tmp_path: Path) -> None:
    generate.write(tmp_path)
    written = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert len(written) == 11
    for path in written:
        shipped = generate.FOLDER / path.relative_to(tmp_path)
        assert shipped.read_bytes() == path.read_bytes(), path.name


def test_training_and_evaluation_share_no_person_number_or_id() -> None:
    training = json.dumps(carrier.carrier(carrier.TRAINING, 2))
    for person in carrier.EVALUATION:
        assert person.name not in training and person.number not in training
    seen = {line["line_id"] for line in carrier.carrier(carrier.TRAINING, 2)["lines"]}
    held_out = {line["line_id"] for line in carrier.carrier(carrier.EVALUATION, 3)["lines"]}
    assert not seen & held_out


def test_no_service_without_card_line_or_access_point(bases: Bases) -> None:
    office = opened(bases)
    assert office.user.get("device", "network_connection_status") == phone.CONNECTED
    for name, arguments in (
        ("unseat_sim_card", {}),
        ("lock_sim_card", {"mode": "puk"}),
        ("break_apn_settings", {}),
        ("turn_airplane_mode_on", {}),
    ):
        broken = opened(bases, NamedCall(Side.USER, name, arguments))
        assert broken.user.get("device", "network_connection_status") == phone.NO_SERVICE, name
        assert phone.speed(broken.user).grade == "No Connection"
        assert (
            "No Signal" in user(broken, "check_status_bar")
            or "Airplane" in name
            or ("Airplane Mode" in user(broken, "check_status_bar"))
        )


@pytest.mark.parametrize(
    ("setups", "mbps", "grade"),
    [
        ([], 275.0, "Excellent"),
        ([("turn_data_saver_mode_on", {})], 55.0, "Good"),
        ([("break_vpn", {})], 27.5, "Good"),
        ([("set_network_mode_preference", {"mode": "4g_only"})], 44.0, "Good"),
        ([("set_network_mode_preference", {"mode": "3g_only"})], 1.5, "Poor"),
        ([("set_network_mode_preference", {"mode": "2g_only"})], 0.05, "Very Poor"),
        ([("break_vpn", {}), ("turn_data_saver_mode_on", {})], 5.5, "Fair"),
    ],
)
def test_a_speed_test_follows_from_the_settings(
    bases: Bases, setups: Sequence[tuple[str, dict[str, Any]]], mbps: float, grade: str
) -> None:
    office = opened(bases, *(NamedCall(Side.USER, name, given) for name, given in setups))
    phone.search_network(office.user)
    assert phone.speed(office.user) == (mbps, grade)
    assert f"{mbps:.2f} Mbps ({grade})" in user(office, "run_speed_test")


def test_abroad_both_the_phone_and_the_line_must_roam(bases: Bases) -> None:
    abroad = NamedCall(Side.USER, "set_user_location", {"abroad": True})
    office = opened(bases, abroad, NamedCall(Side.AGENT, "disable_roaming", OWN))
    assert not phone.data_works(office.user)
    user(office, "toggle_roaming")
    assert not phone.data_works(office.user), "the carrier does not allow it yet"
    assert agent(office, "enable_roaming", **OWN) == "Roaming enabled successfully"
    assert phone.data_works(office.user)
    assert agent(office, "enable_roaming", **OWN) == "Roaming was already enabled"


def test_a_payment_that_is_asked_for_and_made_is_booked(bases: Bases) -> None:
    overdue = OWN | {"new_bill_id": "B2029", "contract_ended": False}
    office = opened(bases, NamedCall(Side.AGENT, "suspend_line_for_overdue_bill", overdue))
    assert office.user.get("surroundings", "line_active") is False
    assert user(office, "check_payment_request") == "No payment request has been made."
    assert user(office, "make_payment") == "You do not have a payment request."
    agent(office, "send_payment_request", customer_id="C202", bill_id="B2029")
    assert "already awaiting payment" in agent(
        office, "send_payment_request", customer_id="C202", bill_id="B2021"
    )
    assert "bill B2029 of 24.0 USD" in user(office, "check_payment_request")
    assert "24.0 USD has been made" in user(office, "make_payment")
    assert office.user.get("surroundings", "payment_request") is None
    no_debt = NamedCall(Side.AGENT, "assert_no_overdue_bill", {"overdue_bill_id": "B2029"})
    assert office.holds(Assertion(no_debt))
    assert "Line resumed successfully" in agent(office, "resume_line", **OWN)
    assert "Error: Line must be suspended" in agent(office, "resume_line", **OWN)


def test_a_reset_access_point_comes_with_the_restart(bases: Bases) -> None:
    office = opened(bases, NamedCall(Side.USER, "break_apn_settings"))
    user(office, "reset_apn_settings")
    assert office.user.get("device", "network_connection_status") == phone.NO_SERVICE
    assert user(office, "reboot_device").startswith("Resetting APN settings...")
    assert office.user.get("device", "network_connection_status") == phone.CONNECTED


def test_a_setting_of_the_access_point_is_whole_or_refused(bases: Bases) -> None:
    office = opened(bases)
    assert "internet" in user(office, "set_apn_settings", apn_settings={"mmsc_url": None})
    assert office.user.get("device", "active_apn_settings", "mms_apn") == "mms"
    assert not phone.can_send_mms(office.user)
    for wrong in ({"apn": "x"}, {"apn_name": "x"}):
        told = user(office, "set_apn_settings", apn_settings=wrong)
        assert told.startswith("Error: "), told


def test_airplane_mode_takes_the_vpn_along(bases: Bases) -> None:
    office = opened(bases, NamedCall(Side.USER, "break_vpn"))
    user(office, "toggle_airplane_mode")
    assert user(office, "check_vpn_status") == "VPN is turned OFF."
    assert "Cannot change Wi-Fi" in user(office, "toggle_wifi")


def test_refueled_data_goes_on_the_bill_that_is_being_drafted(bases: Bases) -> None:
    office = opened(bases)
    told = json.loads(agent(office, "refuel_data", **OWN, gb_amount=2))
    assert told["charge"] == "5.0" and told["new_data_refueling_gb"] == "2.0"
    draft = json.loads(agent(office, "get_details_by_id", id="B2022"))
    assert (draft["status"], draft["total_due"]) == ("Draft", 5.0)
    assert "positive" in agent(office, "refuel_data", **OWN, gb_amount=0)


def test_a_drafted_bill_has_the_same_id_in_every_process(bases: Bases) -> None:
    # The public tools draw it at random, so that no two states that hold one are ever equal.
    drafted = []
    for _ in range(2):
        office = opened(bases)
        place = next(
            at for at, bill in enumerate(office.agent.get("bills")) if bill["bill_id"] == "B2022"
        )
        office.agent.put("Issued", "bills", place, "status")
        agent(office, "refuel_data", **OWN, gb_amount=1.0)
        drafted.append(office.agent.get("bills")[-1])
    assert drafted[0] == drafted[1]
    assert drafted[0]["bill_id"] == "B631956dc"
    assert (drafted[0]["period_start"], drafted[0]["period_end"]) == ("2025-03-01", "2025-03-31")


def test_issue_154_a_broken_vpn_breaks_no_later_connection(bases: Bases) -> None:
    # tau2-bench #154: the details of every VPN were one object of the class.
    search = NamedCall(Side.USER, "simulate_network_search")
    broken = opened(bases, search, NamedCall(Side.USER, "break_vpn"))
    assert phone.speed(broken.user).mbps == 27.5
    fresh = opened(bases, search)
    user(fresh, "connect_vpn")
    assert phone.speed(fresh.user).mbps == 275.0
    user(broken, "disconnect_vpn")
    user(broken, "connect_vpn")
    assert phone.speed(broken.user).mbps == 275.0


def test_one_dialogue_leaves_the_shared_records_as_they_were(cast: Cast) -> None:
    task = own_task("mms-airplane-mode-mmsc-wifi_calling-storage-sms")
    before = json.dumps([verifier.bases_of(task).agent, verifier.bases_of(task).user])
    assert cast.play(task, "oracle").success == 1.0
    after = verifier.bases_of(task)
    assert json.dumps([after.agent, after.user]) == before


def test_issue_472_the_users_tools_are_the_users(cast: Cast) -> None:
    # tau2-bench #472: the manual reads as if the agent had them, and nine of ten agents called one.
    env = cast.env(own_task("service-airplane"))
    opening = env.start()
    assert "and you cannot call them" in opening.system
    shown = opening.system.partition("<tools>")[2]
    assert not [name for name in DOMAIN.user.tools if name in shown]
    called = env.act(read_action(call_text(NamedCall(Side.AGENT, "toggle_airplane_mode"))))
    assert called.events == ("malformed",)
    assert "a tool of the user's own; ask them in words" in called.observation


def test_every_tool_that_policy_and_manual_name_is_there(cast: Cast) -> None:
    # The public policy describes a change of plans for which there is no tool.
    known = {*DOMAIN.agent.tools, *DOMAIN.user.tools}
    for split in catalog.SPLITS:
        system = cast.env(catalog.tasks("tau2_telecom", split)[0]).start().system
        policy = system.partition("<policy>")[2].partition("</policy>")[0]
        named = {word for word in policy.split("`")[1::2] if "_" in word and "5g" not in word}
        assert named and named <= known, named - known


def test_what_the_user_did_is_told_after_the_reply_and_once(cast: Cast) -> None:
    env = cast.env(own_task("service-airplane"))
    env.start()
    said = env.act(Action(Choice.ACTION, "Please turn off airplane mode and check the status bar."))
    assert said.say is not None and said.observation == ""
    heard = env.hear(Reply("All right."))
    assert heard.events == ("user_acted", "user_acted")
    assert heard.observation.startswith("(The user did toggle_airplane_mode().) Airplane Mode is ")
    assert "(The user did check_status_bar().) Status Bar: " in heard.observation
    again = env.hear(Reply("All right."))
    assert (again.observation, again.events) == ("", ("off_topic",))


def test_an_agent_that_leaves_early_has_left_the_trouble(cast: Cast) -> None:
    episode = cast.play(own_task("service-airplane"), "closing")
    assert (episode.stop, episode.success) == (StopReason.FAILED, 0.0)
    assert episode.metrics["ended"] == 1.0


def test_the_mediocre_player_is_neither_at_the_floor_nor_at_the_top(cast: Cast) -> None:
    tasks = catalog.tasks("tau2_telecom", "train")
    played = [cast.play(task, "hasty", seed=seed) for seed in range(3) for task in tasks]
    share = sum(episode.success or 0.0 for episode in played) / len(played)
    assert 0.2 < share < 0.8


def test_no_reply_tells_what_the_phone_shows_or_needs(cast: Cast) -> None:
    # What is wrong is nowhere in the user's words: only the phone shows it.
    for task in catalog.tasks("tau2_telecom", "train"):
        for turn in cast.play(task, "oracle").turns:
            if turn.speaker is Speaker.USER:
                assert not any(name in turn.text for name in DOMAIN.user.tools)
                assert "Status Bar" not in turn.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"planz": []}, "has no field 'planz'"),
        ({"plans": [{"plan_id": "P1"}]}, r"plans\[0\] lacks name, data_limit_gb"),
        ({"bills": [{"id": "B1"}]}, r"bills\[0\] has no field 'id'"),
    ],
)
def test_records_with_unknown_or_missing_fields_are_refused(
    content: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        records.agent_records(content)


def test_a_phone_with_an_unknown_field_is_refused() -> None:
    for wrong in ({"phone": {}}, {"device": {"wifi": True}}, {"surroundings": {"abroad": True}}):
        with pytest.raises(ValueError, match="has no field"):
            records.user_records(wrong)
