"""The same key in two of the files that GPT-NeoX merges.

Why it hurts: GPT-NeoX makes one mapping of all its files and stops when a key comes
again, whatever its value. Spelt with a dash in the later file, the key is not noticed
and replaces the first value silently. So do two spellings of a key in one file.

What passes: each key in one file.

Where it does not apply: other frameworks, and a single file whose keys all differ.

Source: EleutherAI/gpt-neox megatron/neox_arguments/arguments.py (NeoXArgs.from_ymls).

Bad::

    # local_setup.yml
    "checkpoint_factor": 10000,
    # 125M.yml
    "checkpoint_factor": 1000,

Good::

    # 125M.yml alone
    "checkpoint_factor": 1000,
"""

from speccheck.validator.evidence.framework_keys import dotted
from speccheck.validator.evidence.mending import without_keys
from speccheck.validator.evidence.stated_keys import StatedKey, StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-005")
def key_in_two_merged_files(stated: StatedKeys) -> Verdicts:
    """Judge each key at the top of a file that another one has stated."""
    files = [file for file in stated.files if file.format == "gpt-neox"]
    first: dict[str, StatedKey] = {}
    result = False
    for file in files:
        for key in file.keys:
            name = dotted(key.path)
            earlier = first.setdefault(name, key) if len(key.path) == 1 else key
            if earlier is key:
                continue
            result = True
            where = "two of the merged files"
            if earlier.place.file == key.place.file:
                where = "one file in two spellings"
            yield fail(
                f"{name} is stated in {where}: as {earlier.value!r:.40} and as "
                f"{key.value!r:.40}",
                at=[key.place, earlier.place],
                measured="twice",
                required="once",
                cost="GPT-NeoX stops while it loads the files; a key spelt with a dash "
                "in the later one replaces the first silently",
                remedy=f"Keep {name} in one place.",
                fix=without_keys([key]) if key.value == earlier.value else None,
            )
    if len(files) > 1 and not result:
        yield passed()
