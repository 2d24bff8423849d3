"""Experience: what runs have taught, kept as lessons that are added to and never edited."""
