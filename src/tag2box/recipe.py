"""Every setting once: a field with a line of doc serves Python, the command line and TOML."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro

Format = Literal[
    "auto", "folder", "table", "json", "coco", "voc", "yolo", "labelstudio", "imagenet-vid"
]


@dataclass(frozen=True)
class ReadingSettings:
    """Where the tags come from."""

    tags: Path | None = None
    """File with the tags (CSV, TSV, JSON, JSON lines); DATA is then the folder of photos."""
    format: Format = "auto"
    """Format of the data; `auto` looks at what lies there."""
    images: Path | None = None
    """Folder the image names are relative to, when it is not where the format expects it."""
    classes: tuple[str, ...] = ()
    """Keep only these classes, in this order; all when empty. On the command line: a,b,c."""
    split: str | None = None
    """Split to read, for formats that have splits: train, val, trainval, test."""
    image_list: Path | None = None
    """Text file with one image id or name a line: keep only those."""
    difficult_makes_tag: bool = False
    """Whether an object that is only there as `difficult` makes a training tag."""
    key_frames: int = 15
    """ImageNet VID: uniformly spaced frames taken from each clip; 0 takes every frame."""


@dataclass(frozen=True)
class ImageSettings:
    """How photos are decoded."""

    unreadable: Literal["stop", "skip"] = "stop"
    """What to do with a photo that cannot be decoded: stop, or skip it with a warning."""
    max_megapixels: float = 200.0
    """Photos larger than this are refused before they are decoded."""


@dataclass(frozen=True)
class DoctorSettings:
    """What the doctor looks at and where it draws the line."""

    quick: bool = False
    """Read only the headers of the photos; they are not decoded."""
    few_photos: int = 20
    """A class with fewer photos is mentioned."""
    everywhere: float = 0.95
    """A class in this share of the photos has no contrast."""
    together: float = 0.95
    """A class of which this share comes with another one cannot be told from it."""
    tiny_side: int = 64
    """Photos with a shorter side are mentioned."""
    long_aspect: float = 5.0
    """Photos longer than this many times their width, or wider, are mentioned."""
    workers: int = 4
    """Threads that look at photos."""


@dataclass(frozen=True)
class ProposalSettings:
    """Where the candidate regions come from, and which of them are used."""

    source: Annotated[str, tyro.conf.arg(name="proposals", prefix_name=False)] = "selective-search"
    """selective-search, edges, grid, file:PATH or package.module:function."""
    mode: Literal["fast", "quality"] = "fast"
    """Selective search: about 1,000 or about 4,000 boxes a photo."""
    rank_seed: int = 0
    """Selective search: seed of the order of its boxes."""
    cache: Path | None = None
    """Folder that computed proposals are kept in; by default below the user's cache folder."""
    processes: int = 0
    """Processes that compute proposals; 0 is one a core."""
    minimum_side: float = 2.0
    """Boxes with a shorter side, in pixels of the photo, are left out."""
    duplicates: Literal["rounded", "exact", "keep"] = "rounded"
    """Of equal boxes only the first is kept; `rounded` compares whole pixels."""
    random_share: float = 1.0
    """Share of the boxes of a photo that is drawn at random, the same each time."""
    share_seed: int = 0
    """Seed of that draw."""
    maximum_count: int = 0
    """Most boxes a photo, the first of the source's order; 0 keeps all."""


@dataclass(frozen=True)
class TrainingSettings:
    """How the detector learns."""

    steps: int = 30_000
    """Steps of the optimiser."""
    images_per_step: int = 8
    """Photos a step averages over, on all processes together."""
    linear_rule_images: int = 8
    """Photos a step the learning rates are meant for; other counts scale them in proportion."""
    optimizer: Literal["sgd", "adamw"] = "sgd"
    """SGD with momentum as in the paper, or AdamW."""
    learning_rate: float = 0.01
    """Of weights; biases take `bias_rate_factor` times it."""
    bias_rate_factor: float = 2.0
    """Learning rate of biases over that of weights; biases have no weight decay."""
    momentum: float = 0.9
    """Of SGD; the first beta of AdamW."""
    weight_decay: float = 1e-4
    """Of weights."""
    warm_up_steps: int = 200
    """Steps over which the learning rate rises to its value."""
    warm_up_start: float = 1 / 3
    """Share of the learning rate the first step starts from."""
    schedule: Literal["step", "cosine", "constant"] = "step"
    """How the learning rate falls."""
    decay_at: tuple[int, ...] = (20_000, 26_000)
    """Steps at which the `step` schedule multiplies the learning rate by `decay_by`."""
    decay_by: float = 0.1
    """Factor of each decay."""
    clip_gradient: float = 0.0
    """Longest gradient of a step; 0 leaves gradients as they are."""
    short_sides: tuple[int, ...] = (480, 576, 688, 864, 1000, 1200)
    """Short sides in pixels a view is drawn from."""
    long_side: int = 2000
    """Longest side of a view in pixels."""
    mirror: bool = True
    """Whether half of the views are mirrored."""
    light: float = 0.0
    """Strength of the light noise on colours; 0.1 is AlexNet's."""
    regions_per_batch: int | Literal["auto"] = "auto"
    """Regions evaluated at once (sequential batch back-propagation); auto goes by free memory."""
    kept_regions: int = 0
    """With a fixed `regions_per_batch`: regions whose inside is kept instead of recomputed."""
    recompute_base: bool = False
    """Compute the base again in the backward pass too: less memory, more time."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of the forward pass; sums of losses are float32 in any case."""
    compile: bool = False
    """Compile base and heads with torch.compile."""
    non_finite: Literal["stop", "skip"] = "stop"
    """What to do at a loss that is not finite: stop with a dump, or skip the step and count."""
    feature_cache: Path | None = None
    """Folder for the features of a frozen base; the user's cache folder when not named."""
    feature_cache_gigabytes: float = 20.0
    """Most that the cached features take on disk; 0 turns the cache off."""
    workers: int = 2
    """Processes that prepare photos ahead of the step."""
    checkpoint_every: int = 500
    """Steps between checkpoints."""
    keep_checkpoints: int = 2
    """Checkpoints kept, the newest."""
    log_every: int = 10
    """Steps between lines of metrics.jsonl."""
    seed: int = 0
    """Of everything random: order, views, dropout, initial weights."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to compute; auto takes a GPU when there is one."""


@dataclass(frozen=True)
class GameSettings:
    """How Concrete DropBlock plays against the detector."""

    play: Literal["one-pass", "alternating"] = "one-pass"
    """Negated gradients in the same pass, or a second pass a step as in the reference."""
    weight: float = 0.01
    """Of the loss that Concrete DropBlock maximises."""
    learning_rate: float = 1e-4
    """Of Concrete DropBlock's weights; its biases take twice that."""
    momentum: float = 0.9
    """Of its SGD."""
    weight_decay: float = 1e-4
    """Of its weights."""
    growth: float = 3.0
    """Its learning rate is multiplied by this wherever the detector's decays."""


@dataclass(frozen=True)
class SceneSettings:
    """Generated photos with known boxes."""

    train: int = 200
    """How many scenes to learn from."""
    val: int = 100
    """How many scenes to score on."""
    width: int = 320
    """Width of a scene in pixels."""
    height: int = 240
    """Height of a scene in pixels."""
    difficulty: float = 0.5
    """From 0 (large objects, apart, little else) to 1 (small, hidden, faint parts, distractors)."""
    seed: int = 0
    """Other scenes for another number."""


@dataclass(frozen=True)
class MiningSettings:
    """How pseudo boxes are found and which regions follow them."""

    method: Literal["mist", "oicr", "pcl"] = "mist"
    """`mist` takes many boxes a tag (Alg. 1), `oicr` the best one, `pcl` centres of clusters."""
    top_share: float = 0.15
    """MIST: share p of the best regions of a tag that are candidates."""
    overlap: float = 0.2
    """MIST: IoU tau from which a candidate is dropped in favour of a better one."""
    suppression: Literal["strict", "greedy"] = "strict"
    """MIST: dropped by any better candidate (Alg. 1), or only by one kept itself (NMS)."""
    graph_overlap: float = 0.4
    """PCL: top-ranking regions of greater IoU are neighbours in the graph."""
    clusters_per_tag: int = 5
    """PCL: at most so many cluster centres a tag, the best-scored ones."""
    foreground_overlap: float = 0.5
    """IoU with its pseudo box from which a region is foreground."""
    foreground_from: Literal["method", "at-least", "above"] = "method"
    """Whether that IoU itself is foreground; `method`: no for OICR, yes otherwise."""
    conflicts: Literal["score", "overlap"] = "score"
    """Which of several pseudo boxes claims a region: the paper's highest score, or overlap."""
    answers: Literal["method", "each", "together"] = "method"
    """Whether regions that follow one pseudo box answer each for itself or by their mean
    probability, as PCL's loss has it; `method`: together for PCL, each otherwise."""


@dataclass(frozen=True)
class LossSettings:
    """What training minimises."""

    image_loss_kind: Literal["bce-with-background", "bce", "paper"] = "bce-with-background"
    """Binary cross-entropy over C+1 or C classes (mean), or the paper's sum of -log over tags."""
    first_student_weight: float = 3.0
    """Factor of the first student's losses; its teacher's scores are of a smaller scale."""


@dataclass(frozen=True)
class MergingSettings:
    """Which boxes of an image become its detections."""

    score_threshold: float = 0.0
    """Only boxes scored above this."""
    overlap: float = 0.3
    """Non-maximum suppression per class: IoU above which the lower-scored box is dropped."""
    top: int = 100
    """At most so many detections an image, over all classes."""


@dataclass(frozen=True)
class InferenceSettings:
    """How photos are looked at once the detector is trained."""

    passes: Literal["auto", "single", "all"] = "auto"
    """`single`: the middle one of the short sides; `all`: each of them, averaged, the paper's
    test-time augmentation; `auto`: single to predict, all to label and to evaluate."""
    short_sides: tuple[int, ...] = ()
    """Short sides in pixels to look at; those trained with when none is named."""
    mirror: bool = True
    """Whether `all` also looks at each size mirrored."""
    long_side: int = 0
    """Longest side in pixels; 0 takes that of training."""
    least_score: float = 0.25
    """Only boxes scored at least so are written; 0 keeps all, as scoring needs."""
    every_tag: bool = True
    """label: of every tag at least the best box is written, whatever its score."""
    regions_per_batch: int = 256
    """Regions evaluated at once."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of the network."""
    threads: int = 2
    """That decode the next photos while the network looks at one."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to compute; auto takes a GPU when there is one."""


@dataclass(frozen=True)
class ModelSettings:
    """The detector."""

    backbone: str = "efficientnet_lite0"
    """vgg16, resnet50, resnet101, efficientnet_lite0, or timm:NAME for any other."""
    weights: str = "imagenet"
    """What the backbone starts from: imagenet, none, or a file of weights."""
    random_neck: bool = False
    """VGG16: accept weights without fc6 and fc7, which then start random, with a warning."""
    neck: Literal["own", "fully-connected", "one-layer", "cells"] = "own"
    """EfficientNet-Lite0: its last stages, or (for CPUs) all stages as base and two new layers, one
    or none: the heads then see the cells a region is pooled to."""
    base_stages: int = 7
    """With a new neck: stages that make the base; 5 see less context and cost half."""
    pool_size: int = 7
    """With a new neck: cells a side that a region is pooled to."""
    neck_width: int | None = None
    """Width of two fully connected layers: VGG16 (4096), timm:NAME (1024), `neck` (512)."""
    frozen_stages: int = 2
    """First stages that do not learn; take 0 with weights none. timm:NAME freezes no stage."""
    frozen_neck: bool = False
    """Whether the backbone's own neck does not learn either: only the heads do."""
    pooling: Literal["own", "max", "align"] = "own"
    """RoI max pooling (own of VGG16 and ResNet) or RoI align (own of the others)."""
    region_growth: float = 1.0
    """Sides of what is pooled over those of the region; above 1 it is seen with what is around."""
    streams: Literal["neck", "context"] = "neck"
    """What the two streams of Eq. 1 look at: the neck's outputs, as in the paper, or what the map
    shows in a region against what it shows around it."""
    surroundings: float = 1.5
    """context: sides of the outer edge of what is around, over those of the region."""
    area_power: float = 1.0
    """context: detection starts in proportion to this power of a region's area."""
    students: int = 3
    """Students that refine each other; 0 is WSDDN."""
    regression: bool = True
    """Whether students also move the boxes."""
    dilated: bool = True
    """VGG16: stride 8 with dilated conv5 instead of stride 16."""
    last_relu: bool = True
    """VGG16: the ReLU after conv5_3; checkpoints of the reference have none."""
    stride_in_1x1: bool = False
    """ResNet: stages halve the map in a 1x1 convolution (Caffe's weights), not in the 3x3."""
    channel_order: Literal["own", "RGB", "BGR"] = "own"
    """Order in which the network takes colours; own is what the backbone's weights expect."""
    pixel_mean: tuple[float, float, float] | None = None
    """Subtracted from colours in 0..255, in that order; what the weights expect when unnamed."""
    pixel_std: tuple[float, float, float] | None = None
    """Colours are divided by this after it; what the weights expect when unnamed."""


@dataclass(frozen=True)
class DropoutSettings:
    """What training hides of the features, so that the detector looks at whole objects."""

    kind: Literal["none", "image", "region", "block", "concrete"] = "none"
    """Cells of the image's map, of regions, blocks of regions, or learned blocks of regions."""
    share: float = 0.3
    """Share of cells dropped; of `concrete` the threshold tau that no probability exceeds."""
    block_size: int = 3
    """Side of a block in cells."""
    temperature: float = 0.5
    """concrete: of the Gumbel-softmax; the reference has 0.01."""
    ceiling: Literal["share", "minimum", "scaled"] = "share"
    """concrete: chance of a block at a cell: min(p, tau)/side², min(p, tau), or p tau/side²."""
    hidden_channels: int = 32
    """concrete: width of its residual block; a wide one costs as much as the neck."""
    reference_block: bool = False
    """concrete: the reference's residual block, full width; its batch norm mixes the regions."""
    rescale: Literal["region", "all"] = "region"
    """concrete: make up for dropped cells in each region, or by one ratio as the reference does."""


@dataclass(frozen=True)
class Recipe:
    """All settings, by section. A TOML file may set any of them."""

    reading: ReadingSettings = field(default_factory=ReadingSettings)
    images: ImageSettings = field(default_factory=ImageSettings)
    doctor: DoctorSettings = field(default_factory=DoctorSettings)
    proposals: ProposalSettings = field(default_factory=ProposalSettings)
    scenes: SceneSettings = field(default_factory=SceneSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    game: GameSettings = field(default_factory=GameSettings)
    mining: MiningSettings = field(default_factory=MiningSettings)
    losses: LossSettings = field(default_factory=LossSettings)
    merging: MergingSettings = field(default_factory=MergingSettings)
    inference: InferenceSettings = field(default_factory=InferenceSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    dropout: DropoutSettings = field(default_factory=DropoutSettings)
