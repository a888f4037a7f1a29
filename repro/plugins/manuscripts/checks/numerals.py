"""Small numbers in words or digits, e.g. "five" and "5"."""

WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
)
NUMERALS = "|".join(WORDS)  # for regular expressions


def numeral(text: str | None) -> int | None:
    """Return a number in digits or words, or None."""
    if not text:
        return None
    digits = text.replace(",", "")
    if digits.isdigit():
        return int(digits)
    return WORDS.index(text.lower()) if text.lower() in WORDS else None
