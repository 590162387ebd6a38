"""Which releases a plan runs on."""
