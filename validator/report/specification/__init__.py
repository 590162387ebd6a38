"""An edition as a document that reads as a standard, in Markdown and in HTML."""
