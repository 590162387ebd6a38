"""The editions and catalogues as data, found by their folder."""
