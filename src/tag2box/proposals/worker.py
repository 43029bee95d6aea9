"""Both ends of a process that computes proposals: `python -m tag2box.proposals.worker SETTINGS`.

The process reads the path of a photo a line as JSON, and answers each with a length, a flag and
bytes: the packed proposals, or a sentence about what is wrong. It ends when its input does, that
is, also when the process that started it is killed. A process of this kind, unlike one of
`multiprocessing`, does not run the user's script again and does not load torch.
"""

import contextlib
import json
import os
import struct
import subprocess
import sys
import warnings
from pathlib import Path
from typing import IO

from tag2box.errors import InputError, printable
from tag2box.proposals.sources import Source, UnreadablePhoto, source_named

ANSWER = struct.Struct("<QB")  # length of what follows, and what it is:
BOXES, WRONG_PHOTO, WRONG_SOURCE = range(3)


class Worker:
    """One process that computes proposals, and the questions to it."""

    def __init__(self, source: Source, *, max_megapixels: float) -> None:
        told = {
            "name": source.name,
            "version": source.version,
            "settings": dict(source.settings),
            "max_megapixels": max_megapixels,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tag2box.proposals.worker", json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is for this process, which then ends its workers
        )

    def packed_boxes(self, path: Path) -> bytes:
        """What `Source.packed_boxes` returns, or the error it raises, from over there."""
        questions, answers = self._process.stdin, self._process.stdout
        assert questions is not None
        assert answers is not None
        try:
            questions.write(json.dumps(os.fsencode(path).decode("latin-1")).encode() + b"\n")
            questions.flush()
            length, kind = ANSWER.unpack(answers.read(ANSWER.size))
        except (BrokenPipeError, struct.error):
            raise self._death(path) from None
        answer = answers.read(length)
        if len(answer) < length:
            raise self._death(path)
        if kind == WRONG_PHOTO:
            raise UnreadablePhoto.from_sentence(answer.decode())
        if kind == WRONG_SOURCE:
            raise InputError.from_sentence(answer.decode())
        return answer

    @property
    def alive(self) -> bool:
        """Whether it can answer."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process; it owns nothing that could break."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _death(self, path: Path) -> InputError:
        problem = f"ended the process that looks for its boxes (exit code {self._process.wait()})"
        return InputError(path, problem, "set fewer processes, or leave the photo out")


class ThisProcess:
    """Stands in for a worker where the source cannot be rebuilt in another process."""

    def __init__(self, source: Source, *, max_megapixels: float) -> None:
        self._source, self._max_megapixels = source, max_megapixels

    def packed_boxes(self, path: Path) -> bytes:
        """The proposals of a photo."""
        return self._source.packed_boxes(path, max_megapixels=self._max_megapixels)

    alive = True

    def kill(self) -> None:
        """Nothing to end."""


def _environment() -> dict[str, str]:
    """What this process can import the workers can too; one thread each, as there are many."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    folders = [folder or os.getcwd() for folder in sys.path]
    return {**os.environ, **one_thread, "PYTHONPATH": os.pathsep.join(folders)}


def main(settings: str, questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until there are no more questions."""
    told = json.loads(settings)
    source = source_named(told["name"], **told["settings"])
    for line in questions:
        try:
            if source.version != told["version"]:
                raise InputError(source.name, "was changed while it is in use", "start again")
            path = Path(os.fsdecode(json.loads(line).encode("latin-1")))
            answer = source.packed_boxes(path, max_megapixels=told["max_megapixels"])
            kind = BOXES
        except InputError as error:
            answer = str(error).encode()
            kind = WRONG_PHOTO if isinstance(error, UnreadablePhoto) else WRONG_SOURCE
        answers.write(ANSWER.pack(len(answer), kind) + answer)
        answers.flush()


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    sys.stderr.write(f"tag2box: warning: {printable(message)}\n")


if __name__ == "__main__":
    warnings.showwarning = _show_warning
    private = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a source prints must not mix with the answers
    try:
        main(sys.argv[1], sys.stdin.buffer, private)
    except BrokenPipeError:
        os._exit(0)  # whoever asked is gone
