"""The work of each command, by its name; what it is told on the command line is in `cli/commands`."""
