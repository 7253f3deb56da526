"""Case files on disk: good ones, and every way in which a file can be none."""

import os
import random
import time

import pytest

from audit.casefile.reading import MAX_BYTES, load_document, read_case, read_cases
from audit.errors import CaseError

GOOD = """\
# Why it exists.
id = "{id}"
why = "A case for the tests."
vocab_size = 3
num_speculative_tokens = 1

[target]
extend = "repeat"
"" = ["1/5", "1/2", "3/10"]

[draft]
"" = ["0.5", "0.3", "0.2"]
"""


@pytest.fixture
def write(tmp_path):
    def save(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return save


def problems(*paths):
    with pytest.raises(CaseError) as error:
        read_cases(paths)
    assert error.value.exit_code == 2
    assert all(problem.isprintable() for problem in error.value.problems)
    return error.value.problems


def test_a_good_file(write):
    path = write("a.toml", GOOD.format(id="a"))
    case = read_case(path)
    assert case.id == "a"
    assert case.source == str(path)
    assert read_case(str(path)).hash == case.hash


def test_a_byte_order_mark_and_windows_lines_do_no_harm(write):
    text = GOOD.format(id="a").replace("\n", "\r\n")
    assert read_case(write("a.toml", b"\xef\xbb\xbf" + text.encode())).id == "a"


def test_files_keep_their_order_and_count_once(write, tmp_path):
    b, a = (write(f"{name}.toml", GOOD.format(id=name)) for name in "ba")
    roundabout = tmp_path / "." / "b.toml"
    assert [case.id for case in read_cases([b, a, str(roundabout)])] == ["b", "a"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "is empty; write the id"),
        ("# only a comment\n", "is empty"),
        (b"\x89PNG\r\n\x1a\n", "is not a text file: byte 0 is no UTF-8"),
        (b"\x00\x00", "is not a text file: character 0 is 0"),
        ("id = 'a'\nwhy = \n", "is not valid TOML: Invalid value (at line 2"),
        ('id = "a"\nid = "b"\n', "is not valid TOML: Cannot overwrite a value (at line 2"),
        ("a" + ".a" * 100_000 + " = 1", "has a key of 100,000 dots in line 1, above the bound"),
        ("a = " + "[" * 100_000, "is not valid TOML: it is nested too deeply"),
        ("a = " + "9" * 5000, "is not valid TOML: Exceeds the limit"),
    ],
)
def test_what_is_no_case_file(write, content, complaint):
    (found,) = problems(path := write("a.toml", content))
    assert found.startswith(str(path))
    assert complaint in found


def test_a_huge_file_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "huge.toml"
    with path.open("wb") as file:
        file.truncate(10**12)  # sparse: it takes no room, and reading it would take forever
    start = time.process_time()
    (found,) = problems(path)
    assert f"has 1,000,000,000,000 bytes, above the bound of {MAX_BYTES:,}" in found
    assert time.process_time() - start < 1


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    found = problems(tmp_path, tmp_path / "none.toml", tmp_path / "pipe.toml", "x" * 5000 + ".toml")
    assert "is not a regular file" in found[0]
    assert "cannot be read: No such file" in found[1]
    assert "is not a regular file" in found[2]
    assert "cannot be read: File name too long" in found[3]


def test_a_link_to_itself_is_an_error_and_no_traceback(tmp_path):
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    (found,) = problems(tmp_path / "loop.toml")
    assert "cannot be read" in found


def test_a_file_name_with_control_characters_is_shown_escaped(write):
    (found,) = problems(write("a\n\x1b[2J.toml", ""))
    assert "\\n\\x1b[2J.toml" in found


def test_the_problems_of_all_files_come_together(write):
    good = write("good.toml", GOOD.format(id="good"))
    other = write("other.toml", GOOD.format(id="good").replace('"1/5"', '"2/5"'))
    empty = write("empty.toml", "")
    third = write("third.toml", GOOD.format(id="good"))
    found = problems(good, other, empty, third)
    assert found == (
        f'{other}: id is "good", but {good} has that id; rename one of them.',
        f'{other}: [target] row "" sums to 6/5, but must sum to exactly 1; take away 1/5.',
        f"{empty} is empty; write the id, why, sizes and rows of a case.",
        f'{third}: id is "good", but {good} has that id; rename one of them.',
    )


def test_bare_and_dotted_prefixes(write):
    text = GOOD.format(id="a").replace("num_speculative_tokens = 1", "num_speculative_tokens = 2")
    bare = text.replace("[draft]\n", '[draft]\nextend = "repeat"\n0 = ["1", "0", "0"]\n')
    assert read_case(write("bare.toml", bare)).draft[(0,)][0] == 1
    (found,) = problems(write("dotted.toml", bare.replace("0 = ", "0.1 = ")))
    assert '[draft] row "0" is a table; make it an array' in found


def test_any_damaged_file_gives_sentences_and_no_traceback(write):
    """One character of a good file is changed, 500 times; what happens is a case or a CaseError."""
    chance = random.Random(1)
    text, refusals = GOOD.format(id="a"), []
    for _ in range(500):
        place = chance.randrange(len(text))
        damaged = text[:place] + chance.choice('"[]{}=.,0-9/\n\\ aé') + text[place + 1 :]
        path = write("a.toml", damaged)
        try:
            read_case(path)
        except CaseError as error:
            refusals.append(error.problems)
    assert 200 < len(refusals) < 500
    assert all(str(path) in problem for problems in refusals for problem in problems)


def test_load_document_does_not_check(write):
    assert load_document(write("a.toml", "anything = 1")) == {"anything": 1}
