"""YAML and JSON exactly as the scheduler's own readers take them, for files that are only judged.

``characters`` gives the text, ``tokens`` and ``tree`` its grammar, ``meaning`` what tags, aliases
and merge keys make of it, ``jsontree`` the same for JSON; ``reading`` is the way in. Nothing here
is for texts that are edited: those come through ``yamltext.reader``, which takes less.
"""
