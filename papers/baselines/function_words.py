"""English function words, the stop list that comes with the code: closed word classes only (articles,
pronouns, auxiliaries, prepositions, conjunctions, particles, question words, adverbs of degree), and parts of
their contractions. It is for machines without the list of reading ``word-stop-list``."""

from repro.graph import missing_file
from repro.retrieval.datasets.word_lists import at_hand
from repro.retrieval.recipe.request import Request

LIST = "lists/stopwords.txt"  # in REPRO_DATA. Its content is compared with a digest

FUNCTION_WORDS = tuple(
    """
    a an the this that these those each every either neither some any no such both all few more most much many
    other another same own several
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
    hers herself it its itself they them their theirs themselves one oneself someone anyone everyone nobody
    something anything everything nothing
    am is are was were be been being have has had having do does did doing done can could may might must shall
    should will would ought cannot
    about above across after against along among around as at before behind below beneath beside besides
    between beyond by despite down during except for from in inside into like near of off on onto out outside
    over past per since through throughout till to toward towards under until up upon via with within without
    and but or nor so yet if because although though unless while whereas whether than
    who whom whose which what when where why how there here then now not only just also too very again once
    ever never always even still however therefore thus hence
    s t d ll m re ve don isn aren wasn weren hasn haven hadn doesn didn won wouldn shouldn couldn
    """.split()  # noqa: SIM905 (a list of two hundred quoted words reads worse)
)


def stop_words(request: Request) -> list[str] | dict[str, str]:
    """Return the stop words, or an entry that names their file. By reading ``word-stop-list`` this is the
    file of two joined lists, or ``FUNCTION_WORDS``. Scales below full use the latter if the file is missing.
    At full scale the plan then reports the missing file."""
    if request.reading("word-stop-list") == "nltk-and-inquery":
        file = request.choices.original("word-stop-list", LIST, otherwise="function-words")
        if file is not None:
            return at_hand(request.choices.data, LIST) or missing_file(LIST)
    return sorted(FUNCTION_WORDS)
