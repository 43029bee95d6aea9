"""The one exception a user meets: a sentence that names the place, what is wrong and the remedy."""


class InputError(ValueError):
    """What a user gave cannot be used.

    The command line prints the sentence and exits with code 2; from Python it is a `ValueError`.
    """

    def __init__(self, where: object, problem: str, remedy: str) -> None:
        end = "" if remedy.endswith("?") else "."
        super().__init__(f"{printable(where)}: {printable(problem)}; {printable(remedy)}{end}")

    @classmethod
    def from_sentence(cls, sentence: str) -> "InputError":
        """The error another process has written down."""
        error = cls.__new__(cls)
        ValueError.__init__(error, sentence)
        return error


def printable(value: object, limit: int = 300) -> str:
    """The value on one line, safe to print: control characters escaped, very long text cut."""
    text = str(value).encode("utf-8", "backslashreplace").decode()
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
