"""Random documents as people write them, from a seed: the same in every run."""

import json
from random import Random

from speccheck.validator.evidence.value import KeyPath

NAMES = ("lr", "steps", "optim", "bf16", "seed", "data", "mesh", "name", "tp-size", "x")
WORDS = ("adamw", "llama3", "no", "2e-5", "017", "a b", "it's", 'a "b"', "true", "x:y")
COMMENTS = ("tuned", "a: 1", "{ 'x", "why, [because]", "100 %", 'say "hi"')


def scalar(random: Random) -> str | int | float | bool:
    return random.choice(
        (
            random.randrange(100),
            random.choice((0.1, 1e-4, 2.5, 1e22, -3.0)),
            random.random() < 0.5,
            random.choice(WORDS),
        )
    )


def keys(random: Random) -> list[str]:
    return random.sample(NAMES, random.randint(1, 5))


def paths(data: object, path: KeyPath = ()) -> list[KeyPath]:
    """Return the paths of all keys and items."""
    found: list[KeyPath] = [path] if path else []
    if isinstance(data, dict):
        for key, value in data.items():
            found += paths(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            found += paths(value, (*path, index))
    return found


class YamlText:
    """A block mapping with comments, blank lines, lists and brackets."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.anchors = 0
        self.mapping("", 0)

    def text(self) -> str:
        end = self.random.choice(("\n", "\n", "\r\n"))
        text = end.join(self.lines)
        return text + end if self.random.random() < 0.8 else text

    def scalar(self) -> str:
        value = scalar(self.random)
        if isinstance(value, str):
            return self.random.choice((json.dumps(value), _single(value)))
        return json.dumps(value) if value != 1e22 else "1.0e+22"

    def comment(self) -> str:
        if self.random.random() < 0.3:
            return f"  # {self.random.choice(COMMENTS)}"
        return ""

    def noise(self, indentation: str) -> None:
        if self.random.random() < 0.2:
            self.lines.append(f"{indentation}# {self.random.choice(COMMENTS)}")
        if self.random.random() < 0.1:
            self.lines.append("")

    def mapping(self, indentation: str, depth: int, first: str = "") -> None:
        for key in keys(self.random):
            if not first:
                self.noise(indentation)
            self.pair(first or indentation, indentation, key, depth)
            first = ""

    def pair(self, lead: str, indentation: str, key: str, depth: int) -> None:
        name = self.random.choice((key, key, f'"{key}"', f"'{key}'"))
        kind = self.random.random()
        if kind < 0.15 and depth < 3:
            self.lines.append(f"{lead}{name}:{self.comment()}")
            self.mapping(indentation + "  ", depth + 1)
        elif kind < 0.25 and depth < 3:
            self.lines.append(f"{lead}{name}:{self.comment()}")
            self.sequence(indentation + self.random.choice(("", "  ")), depth + 1)
        elif kind < 0.35:
            self.lines.append(f"{lead}{name}: {self.flow(depth)}{self.comment()}")
        elif kind < 0.4:
            self.lines += [f"{lead}{name}: |", f"{indentation}  text", ""]
        else:
            self.lines.append(f"{lead}{name}: {self.scalar()}{self.comment()}")

    def sequence(self, indentation: str, depth: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.noise(indentation)
            if self.random.random() < 0.4:
                self.mapping(indentation + "  ", depth + 1, f"{indentation}- ")
            else:
                self.lines.append(f"{indentation}- {self.scalar()}{self.comment()}")

    def flow(self, depth: int) -> str:
        if depth < 3 and self.random.random() < 0.7:
            pairs = (f"{key}: {self.flow(depth + 2)}" for key in keys(self.random))
            return f"{{{', '.join(pairs)}}}"
        return f"[{', '.join(self.scalar() for _ in range(self.random.randint(1, 3)))}]"


def _single(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def json_text(random: Random) -> str:
    """Return JSON in one line or many, strict or with comments and trailing commas."""
    relaxed = random.random() < 0.5

    def written(depth: int, indentation: str) -> str:
        if depth > 2 or (depth and random.random() < 0.5):
            return json.dumps(scalar(random))
        is_list = depth > 0 and random.random() < 0.3
        inner = indentation + "  " if random.random() < 0.7 else ""
        items = [
            ("" if is_list else f'"{key}": ') + written(depth + 1, inner or indentation)
            for key in keys(random)
        ]
        opening, closing = ("[", "]") if is_list else ("{", "}")
        if not inner:
            return f"{opening}{', '.join(items)}{closing}"
        lines = [f"{inner}{item}," for item in items]
        if not relaxed or random.random() < 0.5:
            lines[-1] = lines[-1][:-1]
        if relaxed:
            lines = [
                f"{line}  // {random.choice(COMMENTS)}"
                if random.random() < 0.3
                else line
                for line in lines
            ]
        return "\n".join([opening, *lines, indentation + closing])

    end = random.choice(("\n", "\r\n"))
    return (written(0, "") + random.choice(("", "\n"))).replace("\n", end)


def toml_text(random: Random) -> str:
    """Return the tables, dotted keys, inline tables, arrays over lines."""
    lines = _toml_block(random, ["first", *keys(random)])
    for table in ("training", "parallelism"):
        lines += ["", f"[{table}]", *_toml_block(random, keys(random))]
    for _ in range(random.randint(0, 2)):
        lines += ["", "[[sets]]", *_toml_block(random, keys(random))]
    end = random.choice(("\n", "\r\n"))
    return "\n".join([*lines, ""]).replace("\n", end)


def _toml_block(random: Random, names: list[str]) -> list[str]:
    lines: list[str] = []
    for key in names:
        if random.random() < 0.2:
            lines.append(f"# {random.choice(COMMENTS)}")
        comment = f"  # {random.choice(COMMENTS)}" if random.random() < 0.3 else ""
        lines.append(_toml_pair(random, key) + comment)
    return lines


def _toml_pair(random: Random, key: str) -> str:
    kind = random.random()
    if kind < 0.1:
        inner = ", ".join(f"{name} = {_toml_value(random)}" for name in keys(random))
        return f"{key} = {{{inner}}}"
    if kind < 0.2:
        return f"{key} = [{', '.join(_toml_value(random) for _ in range(3))}]"
    if kind < 0.25:
        value, comment = _toml_value(random), random.choice(COMMENTS)
        return f"{key} = [\n  {value},  # {comment}\n  1,\n]"
    name = f"{key}.inner" if kind < 0.35 else key
    return f"{name} = {_toml_value(random)}"


def _toml_value(random: Random) -> str:
    item = scalar(random)
    if isinstance(item, str) and "'" not in item and random.random() < 0.3:
        return f"'{item}'"
    return json.dumps(item) if item != 1e22 else "1e22"


def script_text(random: Random) -> tuple[str, list[tuple[str, str]]]:
    """Return a launch script, and the marked words in it that can be changed."""
    marks: list[tuple[str, str]] = []
    lines = ["#!/bin/bash", f"#SBATCH --nodes={random.randint(1, 9)}"]
    for number in range(random.randint(1, 4)):
        name, value = f"NCCL_V{number}", f"v{number}"
        lead = random.choice(("export ", "export ", ""))
        quote = random.choice(("", '"', "'"))
        comment = f"  # {random.choice(COMMENTS)}" if random.random() < 0.3 else ""
        lines.append(f"{lead}{name}={quote}{value}{quote}{comment}")
        marks.append((f"{name}={quote}[{value}]", name))
        if random.random() < 0.3:
            lines.append(f"# {random.choice(COMMENTS)}")
    words = ["torchrun"]
    for number in range(random.randint(2, 6)):
        flag, value = f"--flag-{number}", str(100 + number)
        joint = random.choice((" ", "="))
        words.append(f"{flag}{joint}{value}")
        marks.append((f"{flag}{joint}[{value}]", flag))
    words += ["train.py", "--seed 7"]
    marks.append(("--seed [7]", "--seed"))
    lines.append(words[0])
    for word in words[1:]:
        if random.random() < 0.5:
            lines[-1] += f" {word}"
        else:
            lines[-1] += " \\"
            lines.append(f"  {word}")
    end = random.choice(("\n", "\n", "\r\n"))
    return end.join([*lines, "echo done"]) + random.choice(("", end)), marks
