"""Reports for other programs: one module a form, listed in `../form.py`."""
