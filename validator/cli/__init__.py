"""The command line: options, settings, commands, exit codes."""
