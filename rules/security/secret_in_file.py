"""A credential written into a configuration, a script or an environment file.

Why it hurts: these files are shared, logged and committed. Whoever reads them can write
to the tracker, the model hub or the storage of the cluster.

What passes: references to the environment or to a secret store; placeholders.

Where it does not apply: values that are worked out when the job starts.

Source: the token shapes that Hugging Face, OpenAI, AWS, GitHub and others publish.

Bad::

    hub_token: hf_...                # the token itself

Good::

    export HF_TOKEN="$(cat /run/secrets/hf)"
"""

from collections.abc import Iterator

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.secrets import masked, secret_kind
from speccheck.validator.evidence.stated_keys import StatedKey, StatedKeys
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class SecretLimit(Numbers):
    """How many credentials may stand in the files."""

    secrets_max: int


@rule(clause="SEC-002")
def secret_in_file(
    stated: StatedKeys, environment: Environment, limit: SecretLimit
) -> Verdicts:
    """Judge each text by the shapes of credentials; the text itself is never shown."""
    text_lists = [
        (name, kind, text, source.place)
        for name, text, source in _texts(stated, environment)
        if (kind := secret_kind(name, text)) is not None
    ]
    if len(text_lists) <= limit.secrets_max:
        yield passed(measured=len(text_lists), required=limit.secrets_max)
        return
    for name, kind, text, place in text_lists:
        yield fail(
            f"{name} holds a credential: {kind} {masked(text)}",
            at=place,
            measured="a credential",
            required="a reference",
            cost="whoever can read the file can use it",
        )


def _texts(
    stated: StatedKeys, environment: Environment
) -> Iterator[tuple[str, str, StatedKey | Variable]]:
    for file in stated.files:
        for key, text in file.texts:
            yield str(key.path[-1]), text, key
    for variable in environment.variables:
        if variable.value:
            yield variable.name, variable.value, variable
