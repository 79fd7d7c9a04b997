"""The version. tools/make_python_version.py writes this file."""

__version__ = "0.1.0"
