"""The packages; all other metadata is in setup.cfg."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["minifp", "minifp.*"]), "minifp.models"],
    package_dir={"minifp.models": "models"},
)
