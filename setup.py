"""The packages, and where models/, exhibits/ and notebooks/ go; the rest is in setup.cfg."""

from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

# Which use programs in scripts/.
OF_A_CHECKOUT = {Path("notebooks/on-a-gpu.ipynb"), Path("notebooks/source/on-a-gpu.py")}


class BuildWithFolders(build_py):
    """Puts the files of models/ and exhibits/ into minifp.models and minifp.exhibits, as which they
    are imported, and the notebooks of lessons with their glossary into the folder of minifp.teach.
    """

    def find_package_modules(self, package, package_dir):
        """The modules of a package: (package, module, file) of each."""
        modules = super().find_package_modules(package, package_dir)
        if package in ("minifp.models", "minifp.exhibits"):
            files = sorted(Path(package.removeprefix("minifp.")).glob("[!_]*.py"))
            modules += [(package, path.stem, str(path)) for path in files]
        return modules

    def build_package_data(self):
        """All files that are no modules."""
        super().build_package_data()
        for path in sorted(Path("exhibits").glob("*.npz")):
            self.copy_file(str(path), str(Path(self.build_lib, "minifp", path)))
        folder = Path(self.build_lib, "minifp", "teach")
        self.mkpath(str(folder / "notebooks" / "source"))
        sources = Path("notebooks").glob("source/*.py")  # which have the solutions
        for path in sorted({*Path("notebooks").glob("*.ipynb"), *sources} - OF_A_CHECKOUT):
            self.copy_file(str(path), str(folder / path))
        for path in Path("docs", "teaching").glob("glossary.md"):  # not for a wheel of the website
            self.copy_file(str(path), str(folder / "notebooks"))


setup(
    packages=find_packages(include=["minifp", "minifp.*"]),
    package_dir={"": "."},  # else an editable install is no path, and loses to a folder `minifp`
    cmdclass={"build_py": BuildWithFolders},
)
