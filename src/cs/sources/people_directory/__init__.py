"""The operator's own people: files of them are read and imported, and searches ask for them."""
