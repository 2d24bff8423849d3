"""What users can change on their own phone, and the payment that they can make with it.

Every change tells what the status bar shows after it. A VPN's details are made anew for each
connection: shared between connections, a fault of one dialogue would reach every later one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.toolkit import ToolError, write

from . import phone, records  # noqa: TID252 - the folder is loaded by path


class NetworkModePreference(StrEnum):
    """Which networks the phone may use."""

    FOUR_G_5G_PREFERRED = "4g_5g_preferred"
    FOUR_G_ONLY = "4g_only"
    THREE_G_ONLY = "3g_only"
    TWO_G_ONLY = "2g_only"


class APNNames(StrEnum):
    """Access points; one of them leads nowhere."""

    INTERNET = "internet"
    BROKEN = "broken"


@dataclass(frozen=True)
class APNSettings:
    """How the phone reaches the carrier's data network; the defaults are what a reset gives."""

    apn_name: APNNames = APNNames.INTERNET
    reset_at_reboot: bool = False
    mms_apn: str | None = "mms"
    mmsc_url: str | None = "http://mms.carrier.com/mms/wapenc"
    mms_proxy: str | None = None
    mms_port: int | None = None


def vpn_details() -> dict[str, Any]:
    """Return the details of a VPN connection that is just made."""
    return {
        "server_address": "192.168.1.1",
        "protocol": "OpenVPN",
        "server_performance": "excellent",
    }


@write
def set_network_mode_preference(db: Database, mode: NetworkModePreference | str) -> str:
    """Choose the kind of network that the phone prefers."""
    if mode not in phone.PREFERENCES:
        known = ", ".join(phone.PREFERENCES)
        return _told(
            db,
            f"Failed to set network mode: '{mode}' is not a valid option. "
            f"Please use one of: {known}",
        )
    db.put(str(mode), "device", "network_mode_preference")
    phone.search_network(db)
    return _told(db, f"Preferred Network Mode set to: {mode}")


@write
def toggle_airplane_mode(db: Database) -> str:
    """Switch airplane mode; on, it ends every wireless connection."""
    set_airplane_mode(db, on=not db.get("device", "airplane_mode"))
    return _told(db, f"Airplane Mode is now {_state(db, 'airplane_mode')}.")


@write
def reseat_sim_card(db: Database) -> str:
    """Take the SIM card out and put it in again."""
    db.put(False, "device", "sim_card_missing")
    phone.search_network(db)
    return _told(db, "SIM card re-seated successfully.")


@write
def toggle_data(db: Database) -> str:
    """Switch mobile data."""
    switch(db, "data_enabled")
    phone.search_network(db)
    return _told(db, f"Mobile Data is now {_state(db, 'data_enabled')}.")


@write
def toggle_roaming(db: Database) -> str:
    """Switch the use of data abroad."""
    switch(db, "roaming_enabled")
    phone.search_network(db)
    return _told(db, f"Data Roaming is now {_state(db, 'roaming_enabled')}.")


@write
def toggle_data_saver_mode(db: Database) -> str:
    """Switch the mode that saves data and costs speed."""
    switch(db, "data_saver_mode")
    return _told(db, f"Data Saver Mode is now {_state(db, 'data_saver_mode')}.")


@write
def set_apn_settings(db: Database, apn_settings: APNSettings | dict) -> str:
    """Set how the phone reaches the carrier's data network."""
    assert isinstance(apn_settings, dict), "arguments come as JSON"
    if unknown := sorted(set(apn_settings) - set(records.APN)):
        raise ToolError(f"APN settings have no {unknown[0]}; they have {', '.join(records.APN)}")
    settings = {**records.APN, **apn_settings}
    if settings["apn_name"] not in list(APNNames):
        raise ToolError(f"apn_name must be one of {', '.join(APNNames)}")
    db.put(settings, "device", "active_apn_settings")
    phone.search_network(db)
    return _told(db, f"APN settings set to: {settings['apn_name']}")


@write
def reset_apn_settings(db: Database) -> str:
    """Have the default access point taken up at the next restart."""
    db.put(True, "device", "active_apn_settings", "reset_at_reboot")
    phone.search_network(db)
    return _told(db, "APN settings will reset at reboot.")


@write
def toggle_wifi(db: Database) -> str:
    """Switch Wi-Fi."""
    if db.get("device", "airplane_mode"):
        return _told(db, "Cannot change Wi-Fi settings while Airplane Mode is ON.")
    switch(db, "wifi_enabled")
    if not db.get("device", "wifi_enabled"):
        leave_wifi(db)
    return _told(db, f"Wi-Fi is now {_state(db, 'wifi_enabled')}.")


@write
def toggle_wifi_calling(db: Database) -> str:
    """Switch calls over Wi-Fi."""
    switch(db, "wifi_calling_enabled")
    return _told(db, f"Wi-Fi Calling is now {_state(db, 'wifi_calling_enabled')}.")


@write
def connect_vpn(db: Database) -> str:
    """Connect to the VPN."""
    if not join_vpn(db):
        return "VPN already connected."
    return _told(db, "VPN connected successfully.")


@write
def disconnect_vpn(db: Database) -> str:
    """Leave the VPN."""
    if not leave_vpn(db):
        return _told(db, "No active VPN connection to disconnect.")
    return _told(db, "VPN disconnected successfully.")


@write
def grant_app_permission(db: Database, app_name: str, permission: str) -> str:
    """Allow an app something, such as `sms` or `storage`."""
    permission = permission.lower()
    app = db.get("device", "app_statuses", app_name)
    if app is None:
        return _told(db, f"Error. App '{app_name}' not found. Cannot grant permission.")
    if permission not in app["permissions"]:
        return _told(
            db,
            f"Error. Permission '{permission}' not tracked for app '{app_name}', "
            f"available permissions: {list(app['permissions'])}",
        )
    db.put(True, "device", "app_statuses", app_name, "permissions", permission)
    return _told(db, f"Success. Permission '{permission}' granted to app '{app_name}'.")


@write
def reboot_device(db: Database) -> str:
    """Restart the phone."""
    said = []
    if db.get("device", "active_apn_settings", "reset_at_reboot"):
        said.append("Resetting APN settings...")
        db.put(dict(records.APN), "device", "active_apn_settings")
    said.append("Restarting network services...")
    phone.search_network(db)
    return _told(db, "\n".join(said))


@write
def make_payment(db: Database) -> str:
    """Pay the bill that the carrier has asked for."""
    request = db.get("surroundings", "payment_request")
    if request is None:
        return "You do not have a payment request."
    db.put(True, "surroundings", "payment_request", "paid")
    return f"Payment of {request['amount_due']} USD has been made for bill {request['bill_id']}."


def switch(db: Database, setting: str) -> None:
    """Turn a setting of the phone into its opposite."""
    db.put(not db.get("device", setting), "device", setting)


def set_airplane_mode(db: Database, *, on: bool) -> None:
    """Switch airplane mode; either way Wi-Fi is left, and on ends the VPN, too."""
    device = db.get("device")
    db.put(on, "device", "airplane_mode")
    if on or device["wifi_enabled"]:
        leave_wifi(db)
    if on:
        leave_vpn(db)
    phone.search_network(db)


def join_vpn(db: Database) -> bool:
    """Connect to the VPN; False where it was connected already."""
    if db.get("device", "vpn_connected"):
        return False
    db.put(True, "device", "vpn_connected")
    db.put(vpn_details(), "device", "vpn_details")
    return True


def leave_vpn(db: Database) -> bool:
    """Leave the VPN; False where there was none."""
    if not db.get("device", "vpn_connected"):
        return False
    db.put(False, "device", "vpn_connected")
    db.put(None, "device", "vpn_details")
    return True


def leave_wifi(db: Database) -> None:
    """End the connection to a Wi-Fi network."""
    left = {"wifi_connected": False, "wifi_ssid": None, "wifi_signal_strength": phone.NO_SIGNAL}
    for key, value in left.items():
        db.put(value, "device", key)


def _told(db: Database, text: str) -> str:
    return f"{text}\nStatus Bar: {phone.status_bar(db)}"


def _state(db: Database, setting: str) -> str:
    return "ON" if db.get("device", setting) else "OFF"


TOOLS = (
    set_network_mode_preference,
    toggle_airplane_mode,
    reseat_sim_card,
    toggle_data,
    toggle_roaming,
    toggle_data_saver_mode,
    set_apn_settings,
    reset_apn_settings,
    toggle_wifi,
    toggle_wifi_calling,
    connect_vpn,
    disconnect_vpn,
    grant_app_permission,
    reboot_device,
    make_payment,
)
