"""The skill's folder, a package so that an installed copy carries its scripts."""
