"""The phone: what its settings, its line and the place make of its connection.

Pure questions about a user's database, and the one change that follows from its state alone, the
search for a network. Who changes a setting is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from trainer.worlds.tau2.database import Database

NO_SIGNAL = "none"
NO_SERVICE = "no_service"
CONNECTED = "connected"

PREFERENCES: Mapping[str, tuple[str, ...]] = {
    "4g_5g_preferred": ("5G", "4G"),
    "4g_only": ("4G",),
    "3g_only": ("3G",),
    "2g_only": ("2G",),
}
"""Technologies of each network mode, the best first; the last is taken even without a signal."""

SPEED_RANGES: Mapping[str, tuple[float, float]] = {
    "2G": (0.1, 0.4),
    "3G": (1.0, 5.0),
    "4G": (10.0, 100.0),
    "5G": (50.0, 500.0),
}
"""Mbps of each technology; a speed test starts from the middle."""
SIGNAL_FACTORS: Mapping[str, float] = {"poor": 0.2, "fair": 0.5, "good": 0.8, "excellent": 1.0}
BAD_VPN_FACTOR = 0.1
DATA_SAVER_FACTOR = 0.2
GRADES = ((1, "Very Poor"), (5, "Poor"), (25, "Fair"), (100, "Good"), (float("inf"), "Excellent"))
"""The word for every speed below a number of Mbps."""

SIGNAL_ICONS: Mapping[str, str] = {
    "none": "\N{NO MOBILE PHONES} No Signal",
    "poor": "\N{ANTENNA WITH BARS}\N{SUPERSCRIPT ONE} Poor",
    "fair": "\N{ANTENNA WITH BARS}\N{SUPERSCRIPT TWO} Fair",
    "good": "\N{ANTENNA WITH BARS}\N{SUPERSCRIPT THREE} Good",
    "excellent": "\N{ANTENNA WITH BARS}\N{SUPERSCRIPT FOUR} Excellent",
}


class Speed(NamedTuple):
    """What a speed test measures."""

    mbps: float | None
    """None where no data flows."""
    grade: str


def sim_status(db: Database) -> str:
    """Return the state of the SIM card: a missing one cannot be locked."""
    device = db.get("device")
    return "missing" if device["sim_card_missing"] else device["sim_card_status"]


def search_network(db: Database) -> None:
    """Connect to the best network that settings and line allow, or to none."""
    device, surroundings = db.get("device"), db.get("surroundings")
    reachable = (
        sim_status(db) == "active"
        and not device["airplane_mode"]
        and device["active_apn_settings"]["apn_name"] != "broken"
        and surroundings["line_active"]
    )
    technology, signal = NO_SIGNAL, NO_SIGNAL
    if reachable:
        signals = surroundings["signal_strength"]
        offered = PREFERENCES[device["network_mode_preference"]]
        technology = next(
            (one for one in offered if signals.get(one, NO_SIGNAL) != NO_SIGNAL), offered[-1]
        )
        signal = signals.get(technology, NO_SIGNAL)
    device_state = {
        "network_connection_status": CONNECTED if reachable else NO_SERVICE,
        "network_technology_connected": technology,
        "network_signal_strength": signal,
    }
    for key, value in device_state.items():
        if device[key] != value:
            db.put(value, "device", key)


def data_works(db: Database) -> bool:
    """Return whether mobile data flows."""
    device, surroundings = db.get("device"), db.get("surroundings")
    roams = device["roaming_enabled"] and surroundings["roaming_allowed"]
    return (
        not device["airplane_mode"]
        and device["network_signal_strength"] != NO_SIGNAL
        and device["network_connection_status"] != NO_SERVICE
        and (not surroundings["is_abroad"] or roams)
        and device["data_enabled"]
        and not surroundings["mobile_data_usage_exceeded"]
    )


def speed(db: Database) -> Speed:
    """Return what a speed test would measure: the same every time."""
    if not data_works(db):
        return Speed(None, "No Connection")
    device = db.get("device")
    low, high = SPEED_RANGES.get(device["network_technology_connected"], (0.0, 0.0))
    factor = 1.0
    if (
        device["vpn_connected"]
        and (device["vpn_details"] or {}).get("server_performance") == "poor"
    ):
        factor = BAD_VPN_FACTOR
    if device["data_saver_mode"]:
        factor *= DATA_SAVER_FACTOR
    signal = SIGNAL_FACTORS.get(device["network_signal_strength"], 0.0)
    mbps = round((low + high) / 2.0 * signal * factor, 2)
    return Speed(mbps, next(word for limit, word in GRADES if mbps < limit))


def can_send_mms(db: Database) -> bool:
    """Return whether a picture message would go out."""
    device = db.get("device")
    over_wifi = device["wifi_calling_enabled"] and device["wifi_calling_mms_over_wifi"]
    allowed = ((device["app_statuses"] or {}).get("messaging") or {}).get("permissions") or {}
    return bool(
        data_works(db)
        and device["network_technology_connected"] != "2G"
        and not over_wifi
        and device["active_apn_settings"]["mmsc_url"] is not None
        and allowed.get("storage")
        and allowed.get("sms")
    )


def status_bar(db: Database) -> str:
    """Return the icons at the top of the screen, in words."""
    device: Mapping[str, Any] = db.get("device")
    icons = []
    if device["airplane_mode"]:
        icons.append("\N{AIRPLANE}\N{VARIATION SELECTOR-16} Airplane Mode")
    else:
        technology = device["network_technology_connected"]
        icons.append(SIGNAL_ICONS[device["network_signal_strength"]])
        if technology != NO_SIGNAL:
            icons.append(technology)
        if device["data_enabled"] and technology != NO_SIGNAL:
            icons.append("\N{MOBILE PHONE} Data Enabled")
            if device["data_saver_mode"]:
                icons.append("\N{DOWN-POINTING SMALL RED TRIANGLE} Data Saver")
        else:
            icons.append("\N{NO MOBILE PHONES} Data Disabled")
    if device["wifi_enabled"] and device["wifi_connected"]:
        ssid = device["wifi_ssid"]
        icons.append(f"\N{SATELLITE ANTENNA} {f'Connected to {ssid}' if ssid else 'Enabled'}")
    if device["vpn_connected"]:
        icons.append("\N{LOCK} VPN Connected")
    icons.append(f"\N{BATTERY} {device['battery_level']}%")
    return " | ".join(icons)
