"""What papers state and cells can confirm: judged in print first, then in our measurements."""
