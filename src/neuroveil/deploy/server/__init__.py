"""The coordinator's side: receive releases, verify each of them anew, keep and count them."""
