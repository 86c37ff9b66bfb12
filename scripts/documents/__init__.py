"""What walk_docs.py is made of: the blocks of the documents, their commands, and a machine that has
next to nothing, on which they are run."""
