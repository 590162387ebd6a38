"""What silences findings, honestly: comments, waivers files, baselines, settings.

Imported only where there is something to apply.
"""
