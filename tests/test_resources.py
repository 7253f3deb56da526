"""The data folders are found from the package, in both layouts, and never from where one stands."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import audit
from audit import resources
from audit.errors import DraftproofError

ROOT = Path(audit.__file__).resolve().parent.parent


def folders(base, *names):
    for name in names:
        (base / name).mkdir(parents=True)
    return base / "audit"


def test_a_wheel_has_them_inside_the_package(tmp_path):
    package = folders(tmp_path, "audit/_cases", "cases")
    assert resources.data_dir("cases", package=package) == package / "_cases"


def test_a_checkout_has_them_beside_the_package(tmp_path):
    package = folders(tmp_path, "audit", "cases")
    (tmp_path / "pyproject.toml").touch()
    assert resources.data_dir("cases", package=package) == tmp_path / "cases"


def test_a_stranger_beside_an_installed_package_is_not_taken(tmp_path):
    package = folders(tmp_path, "audit", "cases")
    with pytest.raises(DraftproofError, match=r"'cases' is missing.*install draft") as e:
        resources.data_dir("cases", package=package)
    assert e.value.exit_code == 70


def test_this_installation_has_both():
    assert (resources.cases_dir() / "article-three-tokens.toml").is_file()
    assert resources.reports_dir().is_dir()


def test_the_current_folder_does_not_matter(tmp_path):
    """A folder with its own audit/ and cases/, and a package installed elsewhere."""
    site = tmp_path / "site"
    folders(site, "audit/_cases")
    for name in ("__init__.py", "errors.py", "resources.py"):
        shutil.copy(ROOT / "audit" / name, site / "audit" / name)
    here = tmp_path / "here"
    folders(here, "audit/_cases", "cases")
    (here / "pyproject.toml").touch()
    asking = f"import sys; sys.path.insert(0, {str(site)!r}); import audit.resources as r; "
    answer = subprocess.run(
        [sys.executable, "-I", "-c", asking + "print(r.cases_dir())"],
        cwd=here,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(answer.stdout.strip()) == (site / "audit" / "_cases").resolve()
