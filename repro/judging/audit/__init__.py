"""What print alone shows: numbers that do not follow, disagree, or contradict the sentences about them."""
