"""What reports and certificates say of a measurement, beside what was expected."""
