"""Any number of nodes judged as they pass: go or no-go, its history."""
