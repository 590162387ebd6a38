"""Own numbers in place of the edition's: read, judged by, and told in every report."""
