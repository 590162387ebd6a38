"""Files read into evidence, never judged: formats, scripts, documents, captures."""
