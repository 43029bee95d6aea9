from pathlib import Path

import pytest

from tag2box.data.table import read_table
from tag2box.errors import InputError


def written(folder: Path, content: str | bytes, name: str = "tags.csv") -> Path:
    for image in ("a.jpg", "b.jpg", "sub/c.jpg"):
        (folder / image).parent.mkdir(exist_ok=True)
        (folder / image).touch()
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def tags(path: Path, **keywords: object) -> dict[str, list[str]]:
    dataset = read_table(path, **keywords)
    return {image.id: [dataset.class_names[tag] for tag in sorted(image.tags)] for image in dataset}


EXPECTED = {"a.jpg": ["dog", "sheep"], "b.jpg": ["dog"], "sub/c.jpg": []}


@pytest.mark.parametrize(
    "content",
    [
        "image,tags\na.jpg,dog;sheep\nb.jpg,dog\nsub/c.jpg,\n",
        "a.jpg,dog;sheep\nb.jpg,dog\nsub/c.jpg\n",
        "\ufeffFilename,Labels\r\na.jpg,sheep ; dog;\r\n\r\nb.jpg,dog;dog\r\n./sub/c.jpg,\r\n",
        'image,tags\n"a.jpg","dog;sheep"\n"b.jpg","dog"\n"sub\\c.jpg",""\n',
        "image\ttags\na.jpg\tdog;sheep\nb.jpg\tdog\nsub/c.jpg\t\n",
        'image;tags\na.jpg;"dog;sheep"\nb.jpg;dog\nsub/c.jpg;\n',
        "image,tags\na.jpg,dog|sheep\nb.jpg,dog\nsub/c.jpg,\n",
        "note,class,path\nx,dog;sheep,a.jpg\ny,dog,b.jpg\nz,,sub/c.jpg\n",
        "image,dog,sheep\na.jpg,1,1\nb.jpg,1,0\nsub/c.jpg,0,0\n",
        "filename, dog, sheep\na.jpg, 1.0, True\nb.jpg, 1, \nsub/c.jpg, 0, false\n",
    ],
)
def test_every_way_to_write_a_table_says_the_same(tmp_path: Path, content: str) -> None:
    assert tags(written(tmp_path, content)) == EXPECTED


def test_names_may_hold_what_a_csv_can_quote(tmp_path: Path) -> None:
    (tmp_path / "a, b.jpg").touch()
    path = written(tmp_path, 'image,tags\n"a, b.jpg","say ""hello"";überraschung"\n')
    assert tags(path) == {"a, b.jpg": ['say "hello"', "überraschung"]}


def test_photos_may_lie_elsewhere(tmp_path: Path) -> None:
    written(tmp_path, "")
    (tmp_path / "lists").mkdir()
    path = tmp_path / "lists" / "tags.csv"
    path.write_text("c.jpg,dog\n")
    dataset = read_table(path, images=tmp_path / "sub")
    assert dataset[0].path == tmp_path / "sub" / "c.jpg"


def test_a_split_column_chooses_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "image,tags,split\na.jpg,dog,train\nb.jpg,cat,val\n")
    assert tags(path, split="val") == {"b.jpg": ["cat"]}
    assert len(read_table(path)) == 2
    with pytest.raises(InputError, match=r"split 'test'; choose one of: train, val"):
        read_table(path, split="test")
    with pytest.raises(InputError, match="no column split"):
        read_table(written(tmp_path, "image,tags\na.jpg,dog\n"), split="val")
    with pytest.raises(InputError, match="no header"):
        read_table(written(tmp_path, "a.jpg,dog\n"), split="val")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", r"tags\.csv: is empty"),
        ("image,tags\n", "holds no image"),
        ("image,tags\na.jpg,\n", "not a single tag"),
        ("foto,tags\na.jpg,dog\n", r"line 1: no column is called image \(columns: foto, tags\)"),
        ("image\na.jpg\n", "line 1: no column is called tags"),
        ("image,file,tags\na.jpg,a.jpg,dog\n", "line 1: the columns image and file mean the same"),
        ("image,dog,note\na.jpg,1,nice\n", "line 2: 'nice' in the column note is neither 0 nor 1"),
        ("image,dog,cat\na.jpg,1\n", "line 2: has 2 columns where the header has 3"),
        ("image,tags\na.jpg,dog,cat\n", "line 2: has 3 columns where 2.*with ; between"),
        ("a.jpg,dog,cat\n", "line 1: has 3 columns where 2.*with ; between"),
        ("image,tags\na.jpg,dog\n\nx.jpg,cat\n", r"line 4: the image 'x\.jpg' is not in"),
        ("image,tags\n,dog\n", "line 2: '' is not a file name"),
        ("image,tags\n../a.jpg,dog\n", "line 2: .*leaves the image folder"),
        ("image,tags\n/etc/passwd,dog\n", "line 2: .*absolute"),
        ("image,tags\nC:\\a.jpg,dog\n", "line 2: .*absolute"),
        ("image,tags\na.jpg,dog\nb.jpg,dog\n./a.jpg,cat\n", r"line 4: .*already in line 2.*with ;"),
        ('image,tags\na.jpg,"dog\n', r"line 2: is not \.csv .*unexpected end"),
        (b"image,tags\na.jpg,dog\nb.jpg,gr\xfcn\n", "line 3: is not UTF-8; save the file as CSV"),
        ("image,tags\na.jpg,dog\n".encode("utf-16"), "line 1: is not UTF-8"),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, content: str | bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as raised:
        read_table(written(tmp_path, content))
    assert "\n" not in str(raised.value)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.jpg").touch()
    (tmp_path / "photos").mkdir()
    path = written(tmp_path / "photos", "link.jpg,dog\n")
    (tmp_path / "photos" / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    with pytest.raises(InputError, match=r"line 1: .*link out of the folder"):
        read_table(path)
