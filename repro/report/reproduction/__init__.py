"""The page of what others measured, as HTML that needs nothing but itself and as Markdown, with its files."""
