"""Running a federation as processes: the coordinator's SuperLink, each hospital's SuperNode."""
