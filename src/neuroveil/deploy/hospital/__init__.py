"""The hospital's side: show what would leave, send it, resume, and check the receipt."""
