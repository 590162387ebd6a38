"""One run: files in, judged plans out, with waivers, positions, proposals and fixes."""
