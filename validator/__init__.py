"""The validator: sources, plan, engine, reports and the command line."""

VERSION = "0.1.0"
