"""`tag2box train`: a detector from tagged photos."""

import os
import shutil
import sys
import warnings
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import tyro
from rich.console import Console
from rich.progress import Progress

from tag2box.data.doctor import examine
from tag2box.data.findings import Diagnosis
from tag2box.data.reading import read_dataset
from tag2box.errors import InputError, printable
from tag2box.files import write_text
from tag2box.outputs.run_folder import DIAGNOSIS, SAMPLE
from tag2box.recipe import (
    DoctorSettings,
    DropoutSettings,
    GameSettings,
    ImageSettings,
    InferenceSettings,
    LossSettings,
    MergingSettings,
    MiningSettings,
    ModelSettings,
    ProposalSettings,
    ReadingSettings,
    Recipe,
    TrainingSettings,
)
from tag2box.recipe_file import recipe_named
from tag2box.structures import Dataset
from tag2box.verbs.announcing import announce
from tag2box.verbs.looking import Looking, look
from tag2box.verbs.reporting import report_run


def recipe_for(word: str | os.PathLike[str] | None) -> Recipe:
    """The recipe of that name or file; without one that for this machine. Says which."""
    if word is not None:
        _say(f"recipe {word}")
        return recipe_named(word)
    import torch

    if torch.cuda.is_available():
        _say("the default settings; --recipe names others")
        return Recipe()
    _say("recipe laptop, as there is no GPU; --recipe names another")
    return recipe_named("laptop")


@dataclass(frozen=True)
class Verb:
    """Train a detector from photos and their tags. No box is read.

    Example: tag2box train photos/ --tags tags.csv

    The same command continues a run that was stopped, to the same bits. Without a GPU the recipe
    laptop is the default. On several GPUs:
    torchrun --nproc-per-node 8 -- $(which tag2box) train photos/ --tags tags.csv
    """

    data: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """Folders or files with tagged photos, in any format; several are joined."""
    out: Path | None = None
    """Folder of the run; runs/NAME-OF-DATA when not named."""
    resume: Literal["auto", "never"] = "auto"
    """Continue the run that is in the folder, or refuse a folder that has one."""
    force: bool = False
    """Train although the check says that it is pointless."""
    shown: int = 60
    """Photos that report.html shows with the boxes found in them, evenly chosen; 0 writes none."""
    json: bool = False
    """Print JSON."""
    reading: Annotated[ReadingSettings, tyro.conf.arg(name="")] = field(
        default_factory=ReadingSettings
    )
    images: ImageSettings = field(default_factory=ImageSettings)
    doctor: DoctorSettings = field(default_factory=DoctorSettings)
    proposals: ProposalSettings = field(default_factory=ProposalSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    dropout: DropoutSettings = field(default_factory=DropoutSettings)
    mining: MiningSettings = field(default_factory=MiningSettings)
    losses: LossSettings = field(default_factory=LossSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    game: GameSettings = field(default_factory=GameSettings)

    recipe_for = staticmethod(recipe_for)

    @property
    def folder(self) -> Path:
        """Of the run."""
        return self.out or Path("runs") / (self.data[0].resolve().stem if self.data else "run")

    def run(self) -> int:
        """Check, then train; 130 after Ctrl-C."""
        if not self.data:
            raise InputError("train", "no data set is named", "name a folder of tagged photos")
        dataset = read_dataset(self.data, self.reading)
        announce(self.data, self.reading)
        finished = self.train(dataset)
        if finished:
            _say(f"the detector is in {self.folder}")
        else:
            _say(f"stopped and saved; the same command goes on with {self.folder}")
        if self.json and _is_first_process():
            report = str(self.folder / "report.html") if finished and self.shown else None
            said = {"run": str(self.folder), "finished": finished, "report": report}
            sys.stdout.write(msgspec.json.encode(said).decode() + "\n")
        return 0 if finished else 130

    def train(self, dataset: Dataset) -> bool:
        """Check these photos and train on them; False after Ctrl-C."""
        if _is_first_process() and not self._was_checked():
            self._check(dataset)
        from tag2box.proposals.supply import open_supply
        from tag2box.training.run import train

        supply = open_supply(self.proposals, **asdict(self.images))
        finished = train(dataset, self._recipe(), self.folder, supply, resume=self.resume)
        if finished and self.shown and _is_first_process():
            self._report(dataset)
        return finished

    def _report(self, dataset: Dataset) -> None:
        """What was trained on, how the losses fell, and what is found in a few of the photos."""
        from tag2box.inference.gating import tags_known_to

        shutil.rmtree(self.folder / SAMPLE, ignore_errors=True)  # of the run before it went on
        step = max(1, len(dataset) // self.shown)
        few = replace(dataset, images=dataset.images[::step][: self.shown])
        how = Looking(
            run=self.folder,
            out=self.folder / SAMPLE,
            gate=True,
            inference=InferenceSettings(passes="single", device=self.training.device),
            merging=MergingSettings(),
            proposals=self.proposals,
            images=self.images,
            alone=True,
        )
        looked = look(lambda names: tags_known_to(names, few).images, how)
        if looked is not None and looked.found:
            report_run(self.folder, self.folder, looked.found, images=self.images)

    def _was_checked(self) -> bool:
        """Whether this goes on with a run that has begun."""
        return (self.folder / DIAGNOSIS).exists() and (self.folder / "checkpoints").exists()

    def _check(self, dataset: Dataset) -> None:
        """What the doctor says, kept for the report; a hopeless case is refused."""
        diagnosis = self._diagnosis(dataset)
        for finding in diagnosis.findings:
            if finding.severity == "fatal" and not self.force:
                where = self.data[0] if self.data else "the photos"
                raise InputError(where, finding.what, f"{finding.remedy}, or give --force")
            if finding.severity != "note":
                warnings.warn(f"{finding.what}: {finding.effect}; {finding.remedy}.", stacklevel=2)
        plain = msgspec.json.encode(diagnosis.to_plain()).decode()
        write_text(self.folder / DIAGNOSIS, plain + "\n")

    def _diagnosis(self, dataset: Dataset) -> Diagnosis:
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("checking", total=len(dataset))
            return examine(
                dataset,
                max_megapixels=self.images.max_megapixels,
                on_photo=lambda: progress.advance(task),
                **asdict(self.doctor),
            )

    def _recipe(self) -> Recipe:
        """The sections of this verb over the defaults of the others."""
        sections = {f.name for f in fields(Recipe)}
        return Recipe(**{f.name: getattr(self, f.name) for f in fields(self) if f.name in sections})


def _is_first_process() -> bool:
    """Of those torchrun started; known before torch is loaded."""
    return os.environ.get("RANK", "0") == "0"


def _say(sentence: str) -> None:
    if _is_first_process():
        sys.stderr.write(f"tag2box: {printable(sentence)}\n")
