"""Records: every field of the carrier's tables and of a phone, and databases made whole.

Files leave out fields that have a default; here each record has all of them, in one order, which
is also the order in which tools show them. A field that nobody knows, or a needed one that is
missing, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from trainer.worlds.tau2.values import clone

NEEDED: Final = "<needed>"
"""Stands for the default of a field that has none."""

Fields = Mapping[str, Any]
"""Field names and their defaults."""

TABLES: Mapping[str, Fields] = {
    "plans": {
        "plan_id": NEEDED,
        "name": NEEDED,
        "data_limit_gb": NEEDED,
        "price_per_month": NEEDED,
        "data_refueling_price_per_gb": NEEDED,
    },
    "customers": {
        "customer_id": NEEDED,
        "full_name": NEEDED,
        "date_of_birth": NEEDED,
        "email": NEEDED,
        "phone_number": NEEDED,
        "address": NEEDED,
        "account_status": "Pending Verification",
        "payment_methods": [],
        "line_ids": [],
        "bill_ids": [],
        "created_at": "2025-01-01",
        "last_extension_date": None,
        "goodwill_credit_used_this_year": 0.0,
    },
    "lines": {
        "line_id": NEEDED,
        "phone_number": NEEDED,
        "status": "Pending Activation",
        "plan_id": NEEDED,
        "device_id": None,
        "data_used_gb": 0.0,
        "data_refueling_gb": 0.0,
        "roaming_enabled": False,
        "contract_end_date": None,
        "last_plan_change_date": None,
        "last_sim_replacement_date": None,
        "suspension_start_date": None,
    },
    "bills": {
        "bill_id": NEEDED,
        "customer_id": NEEDED,
        "period_start": NEEDED,
        "period_end": NEEDED,
        "issue_date": NEEDED,
        "total_due": NEEDED,
        "due_date": NEEDED,
        "line_items": [],
        "status": "Draft",
    },
    "devices": {
        "device_id": NEEDED,
        "device_type": NEEDED,
        "model": NEEDED,
        "imei": None,
        "is_esim_capable": NEEDED,
        "activated": False,
        "activation_date": None,
        "last_esim_transfer_date": None,
    },
}
"""The carrier's tables."""

APN: Fields = {
    "apn_name": "internet",
    "reset_at_reboot": False,
    "mms_apn": "mms",
    "mmsc_url": "http://mms.carrier.com/mms/wapenc",
    "mms_proxy": None,
    "mms_port": None,
}
PERMISSIONS: Fields = {"sms": False, "storage": False, "phone": False, "network": False}
PHONE: Fields = {
    "sim_card_status": "active",
    "sim_card_missing": False,
    "airplane_mode": False,
    "network_signal_strength": "good",
    "network_technology_connected": "5G",
    "network_connection_status": "connected",
    "battery_level": 80,
    "data_enabled": True,
    "roaming_enabled": False,
    "network_mode_preference": "4g_5g_preferred",
    "active_apn_settings": {},
    "wifi_enabled": False,
    "wifi_connected": False,
    "wifi_ssid": None,
    "wifi_signal_strength": "none",
    "wifi_calling_enabled": False,
    "wifi_calling_mms_over_wifi": False,
    "data_saver_mode": False,
    "vpn_enabled_setting": False,
    "vpn_connected": False,
    "vpn_details": None,
    "app_statuses": {
        "messaging": {"permissions": {"sms": True, "storage": True, "phone": True}},
        "browser": {"permissions": {"storage": True, "network": True}},
    },
}
SURROUNDINGS: Fields = {
    "name": None,
    "phone_number": None,
    "is_abroad": False,
    "roaming_allowed": False,
    "signal_strength": {"2G": "poor", "3G": "fair", "4G": "good", "5G": "excellent"},
    "mobile_data_usage_exceeded": False,
    "line_active": True,
    "payment_request": None,
}


def agent_records(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the carrier's tables, whole.

    Raises:
        ValueError: if a table or a field is unknown, or a needed field is missing.
    """
    tables = whole("the carrier's records", {table: [] for table in TABLES}, content)
    return {
        table: [whole(f"{table}[{at}]", TABLES[table], entry) for at, entry in enumerate(entries)]
        for table, entries in tables.items()
    }


def user_records(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a phone and its surroundings, whole.

    Raises:
        ValueError: if a part or a field is unknown.
    """
    parts = whole("the user's records", {"device": {}, "surroundings": {}}, content)
    device = whole("device", PHONE, parts["device"])
    device["active_apn_settings"] = whole("APN settings", APN, device["active_apn_settings"])
    device["app_statuses"] = {
        name: whole(
            f"app {name}", {"app_name": name, "permissions": {}}, device["app_statuses"][name]
        )
        for name in device["app_statuses"]
    }
    for name, app in device["app_statuses"].items():
        app["permissions"] = whole(f"permissions of {name}", PERMISSIONS, app["permissions"])
    return {
        "device": device,
        "surroundings": whole("surroundings", SURROUNDINGS, parts["surroundings"]),
    }


def whole(what: str, fields: Fields, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with every field there, as copies, in the order of the fields.

    Args:
        what: What to call the record in an error.
        fields: All its fields with their defaults.
        entry: The record, perhaps without some of them.

    Raises:
        ValueError: if the record has another field, or lacks one that has no default.
    """
    if unknown := sorted(set(entry) - set(fields)):
        raise ValueError(f"{what} has no field {unknown[0]!r}; it has {', '.join(fields)}")
    filled = {key: entry.get(key, default) for key, default in fields.items()}
    if missing := [key for key, value in filled.items() if value is NEEDED]:
        raise ValueError(f"{what} lacks {', '.join(missing)}; add it")
    return {key: clone(value) for key, value in filled.items()}
