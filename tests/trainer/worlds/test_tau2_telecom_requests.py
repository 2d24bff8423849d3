"""Requests: what an agent's words ask of a user's phone, and what they do not."""

from __future__ import annotations

import pytest

from trainer.worlds.tau2.case import Case, NamedCall, Side
from trainer.worlds.tau2.office import Bases, Office, open_office
from trainer.worlds.tau2_telecom import records
from trainer.worlds.tau2_telecom.domain import DOMAIN
from trainer.worlds.tau2_telecom.requests import MAX_CALLS, MAX_CHARS, PHRASES, SWITCHES, asked_of
from trainer.worlds.tau2_telecom.tasks import carrier


@pytest.fixture(scope="module")
def office() -> Office:
    """A phone in airplane mode; everything else as it should be."""
    bases = Bases(records.agent_records({}), records.user_records(carrier.phone()))
    setup = NamedCall(Side.USER, "turn_airplane_mode_on")
    return open_office(DOMAIN, Case("t", setups=(setup,)), bases)


def asked(office: Office, words: str) -> list[str]:
    return [
        call.name + "".join(f" {value}" for value in call.arguments.values())
        for call in asked_of(office, words)
    ]


@pytest.mark.parametrize("name", sorted(DOMAIN.user.tools))
def test_every_tool_of_the_phone_can_be_asked_for_by_name(office: Office, name: str) -> None:
    parameters = list(DOMAIN.user.tools[name].parameters["properties"])
    given = ", ".join(f'{parameter}="4g_only"' for parameter in parameters)
    assert [call.name for call in asked_of(office, f"Please use `{name}({given})` now.")] == [name]


def test_no_rule_asks_for_a_tool_that_is_not_there() -> None:
    assert {*PHRASES, *(switch.tool for switch in SWITCHES)} <= set(DOMAIN.user.tools)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Please turn off airplane mode.", ["toggle_airplane_mode"]),
        ("Could you turn airplane mode OFF?", ["toggle_airplane_mode"]),
        ("Please toggle airplane mode off.", ["toggle_airplane_mode"]),
        ("Disable flight mode, please.", ["toggle_airplane_mode"]),
        ("Toggle Airplane Mode.", ["toggle_airplane_mode"]),
        ("Please turn on airplane mode.", ["check_network_status"]),
        ("Please turn mobile data off and on.", ["toggle_data"]),
        ("Please turn on your mobile data.", ["check_network_status"]),
        ("Please switch off Wi-Fi calling.", ["check_network_status"]),
        ("Please enable wifi calling.", ["toggle_wifi_calling"]),
        ("What does your status bar show?", ["check_status_bar"]),
        ("Run a speed test for me.", ["run_speed_test"]),
        ("Check the SIM card status, re-seat the SIM.", ["check_sim_status", "reseat_sim_card"]),
        ("Please reset your APN settings and reboot.", ["reset_apn_settings", "reboot_device"]),
        ("Please disconnect from your VPN.", ["disconnect_vpn"]),
        ("Please connect to the VPN.", ["connect_vpn"]),
        ("Please set the network mode to 4G/5G.", ["set_network_mode_preference 4g_5g_preferred"]),
        ("Change your preferred network type to 3G.", ["set_network_mode_preference 3g_only"]),
        (
            "Please grant the messaging app the sms and storage permissions.",
            ["grant_app_permission messaging storage", "grant_app_permission messaging sms"],
        ),
        (
            "Use grant_app_permission('messaging', 'sms').",
            ["grant_app_permission messaging sms"],
        ),
        ("Try sending a picture message.", ["can_send_mms"]),
        ("Please check your payment request and make the payment.",
         ["check_payment_request", "make_payment"]),
        ("Would you check which apps are installed?", ["check_installed_apps"]),
        ("Is airplane mode on? If it is, please turn it off.", ["check_network_status",
         "toggle_airplane_mode"]),
        ("Could you check whether your mobile data is enabled?", ["check_network_status"]),
        ("Please verify that data roaming is on; if not, enable it.", ["check_network_status",
         "toggle_roaming"]),
        ("Please make sure that Wi-Fi calling is turned on.", ["toggle_wifi_calling"]),
        ("Please try your mobile data again.", ["run_speed_test"]),
        ("Is the Wi-Fi on?", ["check_wifi_status"]),
        ("Did you receive the payment request?", ["check_payment_request"]),
        ("If you are fine with it, please proceed with the payment.", ["make_payment"]),
        ("I would like you to reboot your phone.", ["reboot_device"]),
    ],
)  # fmt: skip
def test_plain_words_ask_for_it_too(office: Office, words: str, expected: list[str]) -> None:
    assert asked(office, words) == expected


@pytest.mark.parametrize(
    "words",
    [
        "Hello, how can I help?",
        "I will enable roaming for you.",
        "I have restarted the line; I'll turn on data roaming.",
        "Let me reset the APN on our side.",
        "Please do not turn off airplane mode yet.",
        "Without you toggling anything, is there anything else?",
        "The airplane mode is on.",
        "I see that your SIM card is missing.",
        "Please turn it off.",
        "I have sent you a payment request.",
        "",
    ],
)
def test_what_the_agent_does_itself_or_forbids_is_no_request(office: Office, words: str) -> None:
    assert asked(office, words) == []


def test_a_new_sentence_is_a_new_matter(office: Office) -> None:
    words = "I have enabled roaming on your line. Please reboot your phone."
    assert asked(office, words) == ["reboot_device"]


def test_a_name_counts_wherever_it_stands(office: Office) -> None:
    assert asked(office, "I can see it once you did toggle_data.") == ["toggle_data"]


def test_calls_come_in_the_order_of_the_words_and_not_without_end(office: Office) -> None:
    words = "Use reboot_device, check_status_bar, run_speed_test, can_send_mms, toggle_wifi."
    names = ["reboot_device", "check_status_bar", "run_speed_test", "can_send_mms"]
    assert asked(office, words) == names[:MAX_CALLS]
    assert asked(office, "reboot_device " * 50) == ["reboot_device"]


def test_a_flood_of_words_is_read_up_to_a_limit(office: Office) -> None:
    assert asked(office, " " * MAX_CHARS + "reboot_device") == []
    assert asked(office, "check " * 100_000) == []


def test_arguments_that_do_not_fit_are_told_by_the_tool(office: Office) -> None:
    (call,) = asked_of(office, "Use grant_app_permission(messaging) please.")
    assert office.call(call).text == "Error: grant_app_permission lacks permission"
