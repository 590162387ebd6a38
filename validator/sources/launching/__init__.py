"""Launch commands in scripts, and scripts inside documents."""
