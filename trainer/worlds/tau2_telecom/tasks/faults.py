"""What can be wrong with a phone or its line, how it is made so, and what mends it.

Every fault is made by functions that task data may name, and mended by tools; one that no tool
mends is handed over. Nothing here knows who calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

USER, AGENT = "user", "assistant"
REFUEL_GB = 2.0

Call = tuple[str, str, Mapping[str, Any]]
"""Side, name and arguments; an argument `{line}`, `{customer}`, `{bill}` stands for its id."""

OWN_LINE = {"customer_id": "{customer}", "line_id": "{line}"}


class Symptom(StrEnum):
    """What a caller notices."""

    SERVICE = "service"
    DATA = "data"
    MMS = "mms"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong."""

    made_by: tuple[Call, ...]
    mended_by: tuple[Call, ...] = ()
    """In this order; empty for what only a person could mend."""
    checked_by: tuple[Call, ...] = ()
    """Checks beside those of the symptom."""
    abroad: bool = False
    """True for a fault that only a caller abroad notices."""


def _phone(name: str, **arguments: Any) -> Call:
    return USER, name, arguments


def _suspended(*, ended: bool) -> tuple[Call, ...]:
    arguments = OWN_LINE | {"new_bill_id": "{bill}", "contract_ended": ended}
    return (
        (AGENT, "suspend_line_for_overdue_bill", arguments),
        _phone("simulate_network_search"),
    )


_RESET = (_phone("reset_apn_settings"), _phone("reboot_device"))
_SEARCH = _phone("simulate_network_search")

FAULTS: Mapping[str, Fault] = {
    "airplane": Fault((_phone("turn_airplane_mode_on"),), (_phone("toggle_airplane_mode"),)),
    "sim_out": Fault((_phone("unseat_sim_card"),), (_phone("reseat_sim_card"),)),
    "apn": Fault((_phone("break_apn_settings"),), _RESET),
    "bill": Fault(
        _suspended(ended=False),
        (
            (
                AGENT,
                "send_payment_request",
                {"customer_id": "{customer}", "bill_id": "{bill}"},
            ),
            _phone("make_payment"),
            (AGENT, "resume_line", OWN_LINE),
            _phone("reboot_device"),
        ),
        ((AGENT, "assert_no_overdue_bill", {"overdue_bill_id": "{bill}"}),),
    ),
    "pin": Fault((_phone("lock_sim_card", mode="pin"),)),
    "contract": Fault(_suspended(ended=True)),
    "data_off": Fault((_phone("turn_data_off"),), (_phone("toggle_data"),)),
    "saver": Fault((_phone("turn_data_saver_mode_on"),), (_phone("toggle_data_saver_mode"),)),
    "vpn": Fault((_phone("break_vpn"),), (_phone("disconnect_vpn"),)),
    "mode": Fault(
        (_phone("set_network_mode_preference", mode="2g_only"),),
        (_phone("set_network_mode_preference", mode="4g_5g_preferred"),),
    ),
    "used_up": Fault(
        ((AGENT, "set_data_usage", OWN_LINE | {"data_used_gb": "{over}"}), _SEARCH),
        ((AGENT, "refuel_data", OWN_LINE | {"gb_amount": REFUEL_GB}),),
        ((AGENT, "assert_data_refueling_amount", OWN_LINE | {"expected_amount": REFUEL_GB}),),
    ),
    "roaming_phone": Fault(
        (_phone("turn_roaming_off"), (AGENT, "enable_roaming", OWN_LINE)),
        (_phone("toggle_roaming"),),
        abroad=True,
    ),
    "roaming_line": Fault(
        ((AGENT, "disable_roaming", OWN_LINE), _phone("turn_roaming_on")),
        ((AGENT, "enable_roaming", OWN_LINE),),
        abroad=True,
    ),
    "roaming_both": Fault(
        ((AGENT, "disable_roaming", OWN_LINE), _phone("turn_roaming_off")),
        ((AGENT, "enable_roaming", OWN_LINE), _phone("toggle_roaming")),
        abroad=True,
    ),
    "mmsc": Fault((_phone("break_apn_mms_setting"),), _RESET),
    "wifi_calling": Fault(
        (_phone("set_wifi_calling", enabled=True, mms_over_wifi=True),),
        (_phone("toggle_wifi_calling"),),
    ),
    "sms": Fault(
        (_phone("remove_app_permission", app_name="messaging", permission="sms"),),
        (_phone("grant_app_permission", app_name="messaging", permission="sms"),),
    ),
    "storage": Fault(
        (_phone("remove_app_permission", app_name="messaging", permission="storage"),),
        (_phone("grant_app_permission", app_name="messaging", permission="storage"),),
    ),
}

CHECKS: Mapping[Symptom, Sequence[Call]] = {
    Symptom.SERVICE: (_phone("assert_service_status", expected_status="connected"),),
    Symptom.DATA: (
        _phone("assert_mobile_data_status", expected_status=True),
        _phone("assert_internet_speed", expected_speed=200, expected_desc="excellent"),
    ),
    Symptom.MMS: (_phone("assert_can_send_mms", expected_status=True),),
}
"""What must hold when a symptom is gone."""
STILL_BROKEN: Sequence[Call] = (_phone("assert_service_status", expected_status="no_service"),)
"""What holds where the caller was handed over: nobody has pretended to mend it."""
