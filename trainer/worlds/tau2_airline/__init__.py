"""The tau2_airline world: reservations booked, changed and cancelled under an airline's policy."""
