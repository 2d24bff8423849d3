"""What users can look up on their own phone; none of it changes anything.

A tool says what the benchmark's tool says. The agent can call none of them, only ask for them.
"""

from __future__ import annotations

from collections.abc import Mapping

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.toolkit import read

from . import phone  # noqa: TID252 - the folder is loaded by path

_SIM: Mapping[str, str] = {
    "active": "Your SIM card is active and working.",
    "missing": "No SIM card detected in the phone.",
    "locked_pin": "The SIM card is locked with a PIN code.",
    "locked_puk": "The SIM card is locked with a PUK code.",
}
_ADVICE: Mapping[str, str] = {
    "Very Poor": "Connection is very slow. Basic web browsing might be difficult.",
    "Poor": "Connection is slow. Web browsing may be sluggish, streaming difficult.",
    "Fair": "Connection is okay for web browsing and some standard definition streaming.",
    "Good": "Connection is good for most activities, including HD streaming.",
    "Excellent": "Connection is very fast.",
}


@read
def check_status_bar(db: Database) -> str:
    """Look at the icons at the top of the screen."""
    return f"Status Bar: {phone.status_bar(db)}"


@read
def check_network_status(db: Database) -> str:
    """Look at the connections to cellular networks and Wi-Fi."""
    device = db.get("device")
    lines = [
        f"Airplane Mode: {_on(device['airplane_mode'])}",
        f"SIM Card Status: {phone.sim_status(db)}",
        f"Cellular Connection: {device['network_connection_status']}",
        f"Cellular Signal: {device['network_signal_strength']}",
        f"Cellular Network Type: {device['network_technology_connected']}",
        f"Mobile Data Enabled: {_yes(device['data_enabled'])}",
        f"Data Roaming Enabled: {_yes(device['roaming_enabled'])}",
        f"Wi-Fi Radio: {_on(device['wifi_enabled'])}",
        f"Wi-Fi Connected: {_yes(device['wifi_connected'])}",
    ]
    if device["wifi_connected"]:
        lines.append(f"Connected Wi-Fi Network: {device['wifi_ssid']}")
    return "\n".join(lines)


@read
def check_network_mode_preference(db: Database) -> str:
    """Look at the kind of network that the phone prefers."""
    return f"Network Mode Preference: {db.get('device', 'network_mode_preference')}"


@read
def run_speed_test(db: Database) -> str:
    """Measure the download speed of mobile data."""
    mbps, grade = phone.speed(db)
    if mbps is None:
        return f"Speed test failed: {grade}."
    return f"Speed Test Result: {mbps:.2f} Mbps ({grade}). {_ADVICE[grade]}"


@read
def check_sim_status(db: Database) -> str:
    """Look whether the SIM card works, is missing or is locked."""
    return _SIM[phone.sim_status(db)]


@read
def check_data_restriction_status(db: Database) -> str:
    """Look whether anything limits the use of data."""
    if db.get("device", "data_saver_mode"):
        return "Data Saver mode is ON (limits data usage)."
    return "Data Saver mode is OFF."


@read
def check_apn_settings(db: Database) -> str:
    """Look at the settings by which the phone reaches the carrier's data network."""
    settings = db.get("device", "active_apn_settings")
    return (
        f"Current APN Name: {settings['apn_name']}\n"
        f"MMSC URL (for picture messages): {settings['mmsc_url'] or 'Not Set'}\n"
        "(These are technical settings, usually best left unchanged.)"
    )


@read
def check_wifi_status(db: Database) -> str:
    """Look whether Wi-Fi is on and connected."""
    device = db.get("device")
    if not device["wifi_enabled"]:
        return "Wi-Fi is turned OFF."
    if not device["wifi_connected"]:
        return "Wi-Fi is ON but not connected to any network."
    return (
        f"Wi-Fi is ON and connected to '{device['wifi_ssid']}'. "
        f"Signal strength: {device['wifi_signal_strength']}."
    )


@read
def check_wifi_calling_status(db: Database) -> str:
    """Look whether calls go over Wi-Fi."""
    return f"Wi-Fi Calling is currently turned {_on(db.get('device', 'wifi_calling_enabled'))}."


@read
def check_vpn_status(db: Database) -> str:
    """Look whether a VPN is connected."""
    device = db.get("device")
    if device["vpn_connected"]:
        details = device["vpn_details"]
        if not details:
            return "VPN is ON and connected (no specific details available)."
        return f"VPN is ON and connected. Details: {dict(details)}"
    if device["vpn_enabled_setting"]:
        return "VPN is turned ON in settings, but currently not connected."
    return "VPN is turned OFF."


@read
def check_installed_apps(db: Database) -> str:
    """List the apps on the phone."""
    names = ", ".join(db.get("device", "app_statuses"))
    return f"The following apps are installed on the phone: {names}"


@read
def check_app_status(db: Database, app_name: str) -> str:
    """Look at one app in detail."""
    granted = _granted(db, app_name)
    if granted is None:
        return f"App '{app_name}' not found on this phone."
    if not granted:
        return f"Status for App: {app_name}\n - Permissions: None granted."
    listed = "".join(f"\n   - {name}" for name in granted)
    return f"Status for App: {app_name}\n - Permissions Granted:{listed}"


@read
def check_app_permissions(db: Database, app_name: str) -> str:
    """Look at what an app is allowed to do."""
    granted = _granted(db, app_name)
    if granted is None:
        return f"App '{app_name}' not found on this phone."
    if not granted:
        return f"App '{app_name}' currently has no permissions granted."
    return f"App '{app_name}' has permission for: {', '.join(granted)}."


@read
def can_send_mms(db: Database) -> str:
    """Try whether the messaging app can send picture messages."""
    word = "can" if phone.can_send_mms(db) else "cannot"
    return f"Your messaging app {word} send MMS messages."


@read
def check_payment_request(db: Database) -> str:
    """Look whether the carrier has asked for a payment."""
    request = db.get("surroundings", "payment_request")
    if request is None:
        return "No payment request has been made."
    return (
        f"You have a payment request for bill {request['bill_id']} of {request['amount_due']} USD."
    )


def _granted(db: Database, app_name: str) -> list[str] | None:
    """Return what an app may do; None where there is no such app."""
    app = db.get("device", "app_statuses", app_name)
    return None if app is None else [name for name, given in app["permissions"].items() if given]


def _on(state: bool) -> str:
    return "ON" if state else "OFF"


def _yes(state: bool) -> str:
    return "Yes" if state else "No"


TOOLS = (
    check_status_bar,
    check_network_status,
    check_network_mode_preference,
    run_speed_test,
    check_sim_status,
    check_data_restriction_status,
    check_apn_settings,
    check_wifi_status,
    check_wifi_calling_status,
    check_vpn_status,
    check_installed_apps,
    check_app_status,
    check_app_permissions,
    can_send_mms,
    check_payment_request,
)
