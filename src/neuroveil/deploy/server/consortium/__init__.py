"""Studies that the server protects for all hospitals together: from a proposal to a release."""
