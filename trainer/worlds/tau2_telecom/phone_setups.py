"""What task data does to a phone before a dialogue, and asks of it after the dialogue.

Neither users nor agents can call any of these. Faults are made by the same switches that users
have, where there is one.
"""

from __future__ import annotations

from typing import Any

from trainer.worlds.tau2.database import Database

from . import phone  # noqa: TID252 - the folder is loaded by path
from . import phone_switches as switches  # noqa: TID252


def set_user_info(db: Database, name: str, phone_number: str) -> None:
    """Say who the user is and which line the phone has."""
    db.put(name, "surroundings", "name")
    db.put(phone_number, "surroundings", "phone_number")


def set_user_location(db: Database, abroad: bool) -> None:
    """Say whether the user is abroad."""
    db.put(abroad, "surroundings", "is_abroad")


def simulate_network_search(db: Database) -> None:
    """Have the phone look for a network."""
    phone.search_network(db)


def turn_airplane_mode_on(db: Database) -> None:
    """Switch airplane mode on, also where it is on: everything wireless starts anew."""
    switches.set_airplane_mode(db, on=True)


def turn_airplane_mode_off(db: Database) -> None:
    """Switch airplane mode off."""
    switches.set_airplane_mode(db, on=False)


def unseat_sim_card(db: Database) -> None:
    """Take the SIM card out."""
    db.put(True, "device", "sim_card_missing")
    phone.search_network(db)


def lock_sim_card(db: Database, mode: str) -> None:
    """Lock the SIM card by `pin` or `puk`, which no tool can undo."""
    db.put({"pin": "locked_pin", "puk": "locked_puk"}[mode], "device", "sim_card_status")
    phone.search_network(db)


def turn_data_on(db: Database) -> None:
    """Switch mobile data on, without a search for a network."""
    db.put(True, "device", "data_enabled")


def turn_data_off(db: Database) -> None:
    """Switch mobile data off."""
    _set(db, "data_enabled", False)


def turn_roaming_on(db: Database) -> None:
    """Allow data abroad on the phone."""
    _set(db, "roaming_enabled", True)


def turn_roaming_off(db: Database) -> None:
    """Forbid data abroad on the phone."""
    _set(db, "roaming_enabled", False)


def turn_data_saver_mode_on(db: Database) -> None:
    """Save data."""
    db.put(True, "device", "data_saver_mode")


def turn_data_saver_mode_off(db: Database) -> None:
    """Stop saving data."""
    db.put(False, "device", "data_saver_mode")


def break_apn_settings(db: Database) -> None:
    """Name an access point that leads nowhere."""
    db.put(switches.APNNames.BROKEN.value, "device", "active_apn_settings", "apn_name")
    phone.search_network(db)


def break_apn_mms_setting(db: Database) -> None:
    """Forget where picture messages go."""
    db.put(None, "device", "active_apn_settings", "mmsc_url")


def set_wifi_calling(db: Database, enabled: bool, mms_over_wifi: bool | None = None) -> None:
    """Say whether calls, and perhaps picture messages, go over Wi-Fi."""
    db.put(enabled, "device", "wifi_calling_enabled")
    if mms_over_wifi is not None:
        db.put(mms_over_wifi, "device", "wifi_calling_mms_over_wifi")


def break_vpn(db: Database) -> None:
    """Connect to a VPN that is slow."""
    switches.join_vpn(db)
    db.put("poor", "device", "vpn_details", "server_performance")


def remove_app_permission(db: Database, app_name: str, permission: str) -> None:
    """Take a permission from an app that is there."""
    db.put(False, "device", "app_statuses", app_name, "permissions", permission.lower())


def assert_airplane_mode_status(db: Database, expected_status: bool) -> bool:
    """Return whether airplane mode is as expected."""
    return db.get("device", "airplane_mode") is expected_status


def assert_service_status(db: Database, expected_status: str) -> bool:
    """Return whether the connection to the network is as expected."""
    return db.get("device", "network_connection_status") == expected_status


def assert_mobile_data_status(db: Database, expected_status: bool) -> bool:
    """Return whether mobile data flows as expected."""
    return phone.data_works(db) is expected_status


def assert_mobile_roaming_status(db: Database, expected_status: bool) -> bool:
    """Return whether data abroad is allowed on the phone as expected."""
    return db.get("device", "roaming_enabled") is expected_status


def assert_mobile_data_saver_mode_status(db: Database, expected_status: bool) -> bool:
    """Return whether data is saved as expected."""
    return db.get("device", "data_saver_mode") is expected_status


def assert_internet_speed(
    db: Database, expected_speed: float, expected_desc: str | None = None
) -> bool:
    """Return whether a speed test reaches a number of Mbps, and the word for it."""
    mbps, grade = phone.speed(db)
    fast = (mbps or 0.0) >= expected_speed
    return fast and (expected_desc is None or grade.lower() == expected_desc.lower())


def assert_internet_not_excellent(db: Database) -> bool:
    """Return whether a speed test is anything but excellent."""
    return phone.speed(db).grade != "Excellent"


def assert_can_send_mms(db: Database, expected_status: bool) -> bool:
    """Return whether picture messages go out as expected."""
    return phone.can_send_mms(db) is expected_status


def assert_mobile_data_usage_exceeded(db: Database, expected_status: bool) -> bool:
    """Return whether the line's data is used up as expected."""
    return db.get("surroundings", "mobile_data_usage_exceeded") is expected_status


def _set(db: Database, setting: str, value: Any) -> None:
    db.put(value, "device", setting)
    phone.search_network(db)


SETUPS = (
    set_user_info,
    set_user_location,
    simulate_network_search,
    turn_airplane_mode_on,
    turn_airplane_mode_off,
    unseat_sim_card,
    lock_sim_card,
    turn_data_on,
    turn_data_off,
    turn_roaming_on,
    turn_roaming_off,
    turn_data_saver_mode_on,
    turn_data_saver_mode_off,
    break_apn_settings,
    break_apn_mms_setting,
    set_wifi_calling,
    break_vpn,
    remove_app_permission,
)
CHECKS = (
    assert_airplane_mode_status,
    assert_service_status,
    assert_mobile_data_status,
    assert_mobile_roaming_status,
    assert_mobile_data_saver_mode_status,
    assert_internet_speed,
    assert_internet_not_excellent,
    assert_can_send_mms,
    assert_mobile_data_usage_exceeded,
)
