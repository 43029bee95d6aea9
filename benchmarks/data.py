"""Reading: a COCO-sized instances file against plain json.load, and Pascal VOC's XML files.

The files are made in a temporary folder (about 0.4 GB, with polygons like COCO's); each reading
runs alone in a fresh process, which reports its CPU seconds and its peak memory. Then comes
benchmarks/evaluation.py: scoring 5,000 images against pycocotools. `tag2box --help` is timed by
the clock, the median of five; with --make so are `make demo` and `make test`, each in a clean
clone of what is committed. The last line is one JSON object.

    python benchmarks/data.py [--images 118000 --boxes 860000 --xml-files 5000] [--make]
"""

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
CLASSES = 80
WIDTH, HEIGHT = 640, 480
POLYGON_POINTS = 22

XML_OBJECT = """\t<object>
\t\t<name>{name}</name>
\t\t<pose>Unspecified</pose>
\t\t<truncated>0</truncated>
\t\t<difficult>0</difficult>
\t\t<bndbox>
\t\t\t<xmin>{x1}</xmin>
\t\t\t<ymin>{y1}</ymin>
\t\t\t<xmax>{x2}</xmax>
\t\t\t<ymax>{y2}</ymax>
\t\t</bndbox>
\t</object>
"""
XML_FILE = """<annotation>
\t<folder>VOC2012</folder>
\t<filename>{name}.jpg</filename>
\t<source>
\t\t<database>The VOC2008 Database</database>
\t\t<annotation>PASCAL VOC2008</annotation>
\t\t<image>flickr</image>
\t</source>
\t<size>
\t\t<width>640</width>
\t\t<height>480</height>
\t\t<depth>3</depth>
\t</size>
\t<segmented>0</segmented>
{objects}</annotation>
"""


def main() -> None:
    """Make the files, measure each reading, print table and JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--images", type=int, default=118_000)
    parser.add_argument("--boxes", type=int, default=860_000)
    parser.add_argument("--xml-files", type=int, default=5_000)
    parser.add_argument("--make", action="store_true", help="time make demo and make test too")
    parser.add_argument("--only", nargs=2, metavar=("READING", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measured(options.only[0], Path(options.only[1]))))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        coco = make_coco(folder / "coco", options.images, options.boxes)
        voc = make_voc(folder / "voc", options.xml_files)
        plain = alone("json.load", coco)
        boxes, tags, xml = (
            alone("parse_coco", coco),
            alone("read_coco", coco),
            alone("read_voc", voc),
        )
        megabytes = coco.stat().st_size / 1e6
    figures: dict[str, Any] = {
        "coco_file_megabytes": round(megabytes),
        "json_load_seconds": plain["seconds"],
        "json_load_peak_megabytes": plain["peak_megabytes"],
        "parse_coco_time_ratio": round(boxes["seconds"] / plain["seconds"], 3),
        "parse_coco_memory_ratio": round(boxes["peak_megabytes"] / plain["peak_megabytes"], 3),
        "read_coco_time_ratio": round(tags["seconds"] / plain["seconds"], 3),
        "read_coco_memory_ratio": round(tags["peak_megabytes"] / plain["peak_megabytes"], 3),
        "voc_files_a_second": round(options.xml_files / xml["seconds"]),
        "help_seconds": round(statistics.median(help_seconds() for _ in range(5)), 3),
    }
    table = Table(
        title=f"{options.images} images, {options.boxes} boxes, {megabytes:.0f} MB of JSON"
    )
    for column in ("reading", "CPU seconds", "peak MB"):
        table.add_column(column, justify="left" if column == "reading" else "right")
    for label, row in {
        "json.load": plain,
        "parse_coco: boxes, checked": boxes,
        "read_coco: tags, image files looked up": tags,
        f"read_voc: {options.xml_files} XML files": xml,
    }.items():
        table.add_row(label, f"{row['seconds']:.2f}", f"{row['peak_megabytes']:.0f}")
    Console().print(table)
    figures["scoring"] = scoring()
    if options.make:
        figures |= {f"make_{target}_seconds": make_seconds(target) for target in ("demo", "test")}
    print(json.dumps(figures))


def scoring() -> dict[str, float]:
    """The figures of benchmarks/evaluation.py, whose table is printed."""
    command = [sys.executable, Path(__file__).with_name("evaluation.py")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    table, _, last = done.stdout.rstrip().rpartition("\n")
    print(table)
    figures: dict[str, float] = json.loads(last)
    return figures


def make_seconds(target: str) -> float:
    """What a person waits for the first command in a clean clone, installation included."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(["git", "clone", "--quiet", ROOT, name], check=True)
        start = time.perf_counter()
        subprocess.run(["make", target], cwd=name, check=True, stdout=sys.stderr)
        return round(time.perf_counter() - start)


def help_seconds() -> float:
    """The first thing a person types, in a process of its own."""
    start = time.perf_counter()
    command = [Path(sys.executable).with_name("tag2box"), "--help"]
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def alone(reading: str, path: Path) -> dict[str, float]:
    """What one reading costs in a process of its own."""
    command = [sys.executable, __file__, "--only", reading, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def measured(reading: str, path: Path) -> dict[str, float]:
    """CPU seconds of a reading, without its imports, and the peak memory of this process."""
    read = reader(reading)
    start = time.process_time()
    content = read(path)
    seconds = time.process_time() - start
    assert content
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": round(seconds, 3), "peak_megabytes": round(peak, 1)}


def reader(reading: str) -> Any:
    """The function that is measured, with nothing imported that another needs."""
    if reading == "json.load":

        def load(path: Path) -> Any:
            with path.open(encoding="utf-8") as file:
                return json.load(file)

        return load
    if reading == "read_voc":
        from tag2box.data.voc import read_voc

        return read_voc
    from tag2box.data import coco

    return getattr(coco, reading)


def make_coco(root: Path, images: int, boxes: int) -> Path:
    """A COCO folder whose photos are empty files; the path of its instances file."""
    rng = random.Random(0)
    photos = root / "train2017"
    photos.mkdir(parents=True)
    for i in range(images):
        (photos / f"{i:012}.jpg").touch()
    polygons = [
        json.dumps([round(rng.uniform(0, HEIGHT), 2) for _ in range(2 * POLYGON_POINTS)])
        for _ in range(1000)
    ]
    file = root / "annotations" / "instances_train2017.json"
    file.parent.mkdir()
    with file.open("w", encoding="utf-8") as out:
        out.write('{"info": {"year": 2017}, "images": [')
        for i in range(images):
            out.write(
                f'{", " if i else ""}{{"license": 3, "file_name": "{i:012}.jpg",'
                f' "height": {HEIGHT}, "width": {WIDTH}, "date_captured": "2013-11-14 11:18:45",'
                f' "id": {i + 1}}}'
            )
        out.write('], "annotations": [')
        for n in range(boxes):
            x, y = round(rng.uniform(0, 400), 2), round(rng.uniform(0, 300), 2)
            w, h = round(rng.uniform(5, 200), 2), round(rng.uniform(5, 150), 2)
            out.write(
                f'{", " if n else ""}{{"segmentation": [{polygons[n % 1000]}], "area": {w * h / 2},'
                f' "iscrowd": 0, "image_id": {rng.randrange(images) + 1},'
                f' "bbox": [{x}, {y}, {w}, {h}], "category_id": {rng.randrange(CLASSES) + 1},'
                f' "id": {n + 1}}}'
            )
        categories = [{"id": k + 1, "name": f"class {k}"} for k in range(CLASSES)]
        out.write(f'], "categories": {json.dumps(categories)}}}')
    return file


def make_voc(root: Path, files: int) -> Path:
    """A Pascal VOC folder with 2.4 objects a file, as in VOC 2012; the photos are empty files."""
    rng = random.Random(0)
    for folder in ("Annotations", "JPEGImages"):
        (root / folder).mkdir(parents=True)
    for i in range(files):
        objects = "".join(
            XML_OBJECT.format(
                name=rng.choice(("dog", "cat", "person")),
                x1=rng.randrange(1, 300),
                y1=rng.randrange(1, 200),
                x2=rng.randrange(301, 640),
                y2=rng.randrange(201, 480),
            )
            for _ in range(rng.choice((1, 2, 2, 3, 4)))
        )
        (root / "JPEGImages" / f"{i:06}.jpg").touch()
        text = XML_FILE.format(name=f"{i:06}", objects=objects)
        (root / "Annotations" / f"{i:06}.xml").write_text(text)
    return root


if __name__ == "__main__":
    main()
