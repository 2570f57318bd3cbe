"""What to do: flags, files and options, read and checked."""
