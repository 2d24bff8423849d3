"""Which troubles our own callers have: a symptom and the faults behind it, one entry a task."""

from __future__ import annotations

from collections.abc import Sequence

from trainer.worlds.tau2_telecom.tasks.faults import Symptom

Trouble = tuple[Symptom, tuple[str, ...]]
SERVICE, DATA, MMS = Symptom.SERVICE, Symptom.DATA, Symptom.MMS

TRAINING: Sequence[Trouble] = (
    (SERVICE, ("airplane",)),
    (SERVICE, ("sim_out",)),
    (SERVICE, ("apn",)),
    (SERVICE, ("bill",)),
    (SERVICE, ("pin",)),
    (SERVICE, ("contract",)),
    (SERVICE, ("airplane", "sim_out")),
    (SERVICE, ("airplane", "pin")),
    (SERVICE, ("apn", "bill")),
    (SERVICE, ("airplane", "apn", "sim_out")),
    (DATA, ("data_off",)),
    (DATA, ("saver",)),
    (DATA, ("vpn",)),
    (DATA, ("mode",)),
    (DATA, ("used_up",)),
    (DATA, ("roaming_phone",)),
    (DATA, ("roaming_line",)),
    (DATA, ("roaming_both",)),
    (DATA, ("used_up", "vpn")),
    (DATA, ("airplane", "saver", "mode")),
    (DATA, ("data_off", "mode", "roaming_both")),
    (DATA, ("data_off", "saver", "used_up", "vpn")),
    (MMS, ("mmsc",)),
    (MMS, ("wifi_calling",)),
    (MMS, ("sms",)),
    (MMS, ("storage", "sms")),
    (MMS, ("mode", "wifi_calling")),
    (MMS, ("data_off", "mmsc", "storage")),
    (MMS, ("roaming_line", "used_up", "sms")),
    (MMS, ("airplane", "mode", "mmsc", "wifi_calling", "storage", "sms")),
)
EVALUATION: Sequence[Trouble] = (
    (SERVICE, ("airplane", "bill")),
    (SERVICE, ("apn", "sim_out")),
    (SERVICE, ("sim_out", "pin")),
    (SERVICE, ("airplane", "contract")),
    (DATA, ("mode", "vpn")),
    (DATA, ("data_off", "used_up")),
    (DATA, ("roaming_both", "saver")),
    (DATA, ("airplane", "data_off", "roaming_phone", "vpn")),
    (MMS, ("mode", "storage")),
    (MMS, ("mmsc", "sms", "wifi_calling")),
    (MMS, ("data_off", "roaming_both", "used_up")),
    (MMS, ("sim_out", "mode", "storage", "sms")),
)
