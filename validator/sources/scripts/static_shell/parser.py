"""The statements of a shell script as they are written, nothing run.

The grammar is that of bash(1), section SHELL GRAMMAR. What a shell would refuse is
noted and passed over.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.scripts.static_shell.commands import (
    BLANKS,
    LINES,
    CommandParser,
)
from speccheck.validator.sources.scripts.static_shell.lexer import MAX_UNCLOSED
from speccheck.validator.sources.scripts.static_shell.syntax import (
    AndOr,
    Block,
    Calculation,
    Case,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Statement,
    Test,
    While,
    WordSyntax,
)

_MAX_NESTING = 40
_KEYWORD = lazy_pattern(
    r"(?:if|then|else|elif|fi|for|select|while|until|do|done|case|esac|function|time"
    r"|coproc|\{|\}|!|\[\[)(?=[ \t\n;&|()<>]|\\\n|$)"
)
_PREFIXES = frozenset({"!", "time", "coproc"})
_CLOSERS = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})
_AND_OR = lazy_pattern(r"(?:[ \t]|\\\n)*(&&|\|\|)")
_PIPE = lazy_pattern(r"(?:[ \t]|\\\n)*\|&?(?!\|)")
_NO_ARGUMENTS = lazy_pattern(r"[ \t]*\([ \t\n]*\)")
_IN = lazy_pattern(r"in(?=[ \t\n;]|$)")
_CASE_END = lazy_pattern(r";;&|;;|;&")
_TEST_OPERATOR = lazy_pattern(r"&&|\|\||[&|;()<>]")
_PATTERN = lazy_pattern(r"(?:[^\s'\"\\]|\\.|'[^'\n]*'|\"[^\"\n]*\")+")


class Parser(CommandParser):
    """Reads the statements of a script."""

    _nesting = 0

    def script(self) -> Block:
        """All statements of the text."""
        statements: list[Statement] = []
        while self.position < self.size:
            statements.extend(self._block(frozenset()))
            if self.position < self.size:
                self.refuse("unexpected ')'", self.position)
                self.position += 1
        return tuple(statements)

    def _block(self, stops: frozenset[str]) -> Block:
        """The statements up to a closing bracket or a word that ends the block."""
        statements: list[Statement] = []
        text = self.text
        while True:
            self.gap()
            position = self.position
            if position >= self.size or text[position] == ")":
                return tuple(statements)
            token = self._token(position)
            if token in stops:
                return tuple(statements)
            statement = None if token in _CLOSERS else self._and_or()
            if statement is not None:
                statements.append(statement)
            if self.position == position:
                self.refuse(f"unexpected {token or text[position]!r}", position)
                self.position += len(token) or 1

    def _token(self, position: int) -> str:
        """The keyword or end of a case at a position, or nothing."""
        keyword = _KEYWORD.match(self.text, position)
        if keyword is None and self.text[position] == ";":
            keyword = _CASE_END.match(self.text, position)
            return ";;" if keyword else ""
        return keyword[0] if keyword else ""

    def _and_or(self) -> Statement | None:
        first = self._pipeline()
        rest: list[tuple[str, Statement]] = []
        while match := _AND_OR.match(self.text, self.position):
            self.position = match.end()
            self.gap(LINES)
            following = self._pipeline()
            if following is None:
                break
            if first is not None:
                rest.append((match[1], following))
        return AndOr(first, tuple(rest)) if first is not None and rest else first

    def _pipeline(self) -> Statement | None:
        text = self.text
        negated = False
        match = _KEYWORD.match(text, self.position)
        while match is not None and match[0] in _PREFIXES:
            negated ^= match[0] == "!"
            self.position = match.end()
            self.skip(BLANKS)
            match = _KEYWORD.match(text, self.position)
        first = self._command(match[0] if match else "")
        if first is None:
            return None
        parts = [first]
        while pipe := _PIPE.match(text, self.position):
            self.position = pipe.end()
            self.gap(LINES)
            match = _KEYWORD.match(text, self.position)
            following = self._command(match[0] if match else "")
            if following is None:
                break
            parts.append(following)
        if len(parts) == 1 and not negated:
            return first
        return Pipeline(tuple(parts), negated)

    def _command(self, keyword: str) -> Statement | None:
        """A compound command where one is opened here, else a simple one."""
        start = self.position
        if self.text.startswith("(", start):
            keyword = "("
        read = self._COMPOUND.get(keyword)
        if read is None or self._nesting >= _MAX_NESTING:
            return self._simple_or_function()
        self.position += len(keyword)
        self._nesting += 1
        statement = read(self, start)
        self._nesting -= 1
        self.redirections()
        return statement

    def _simple_or_function(self) -> Statement | None:
        simple = self.simple()
        if simple is None or len(simple.words) != 1 or simple.assignments:
            return simple
        match = _NO_ARGUMENTS.match(self.text, self.position)
        if match is None or not simple.words[0].text:
            return simple
        self.position = match.end()
        return self._function_body(simple.words[0].text)

    def _function_body(self, name: str) -> Statement:
        self.gap(LINES)
        match = _KEYWORD.match(self.text, self.position)
        body = None if match is None else self._command(match[0])
        if body is None and self.text.startswith("(", self.position):
            body = self._command("(")
        return Function(name, () if body is None else (body,))

    def _expect(self, word: str, start: int) -> None:
        """Go past the word that belongs to a compound command begun at start."""
        self.gap()
        if self.text.startswith(word, self.position):
            self.position += len(word)
        else:
            opener = self.text[start : start + 8].split()[0]
            self.refuse(f"{opener!r} without its {word!r}", start)

    def _group(self, start: int) -> Statement:
        body = self._block(frozenset({"}"}))
        self._expect("}", start)
        return Group(body, subshell=False)

    def _subshell(self, start: int) -> Statement:
        if self.text.startswith("((", start):
            end = self.closing(start)
            if end > 0 and self.text.startswith("))", end - 2):
                self.position = end
                return Calculation(self.data(start + 2, end - 2))
        body = self._block(frozenset())
        self._expect(")", start)
        return Group(body, subshell=True)

    def _if(self, start: int) -> Statement:
        arms: list[tuple[Block, Block]] = []
        otherwise: Block = ()
        while True:
            condition = self._block(frozenset({"then"}))
            self._expect("then", start)
            arms.append((condition, self._block(frozenset({"elif", "else", "fi"}))))
            if not self.text.startswith("elif", self.position):
                break
            self.position += len("elif")
        if self.text.startswith("else", self.position):
            self.position += len("else")
            otherwise = self._block(frozenset({"fi"}))
        self._expect("fi", start)
        return If(tuple(arms), otherwise)

    def _while(self, start: int) -> Statement:
        until = self.text.startswith("until", start)
        condition = self._block(frozenset({"do"}))
        return While(condition, self._loop_body(start), until)

    def _loop_body(self, start: int) -> Block:
        self._expect("do", start)
        body = self._block(frozenset({"done"}))
        self._expect("done", start)
        return body

    def _for(self, start: int) -> Statement:
        self.skip(BLANKS)
        first = self.position
        words: list[WordSyntax] | None = None
        if self.text.startswith("((", first):
            end = self.closing(first)
            self.position = end if end > 0 else first + 2
            name = self.text[first + 2 : self.position].partition("=")[0].strip()
        else:
            variable = self.word()
            name = variable.text if variable else ""
            self.gap(LINES)
            match = _IN.match(self.text, self.position)
            if match is not None:
                self.position = match.end()
                words = self._words()
        place = self.place(first, self.position)
        body = self._loop_body(start)
        return For(name, None if words is None else tuple(words), body, place)

    def _words(self) -> list[WordSyntax]:
        """The words up to the end of the line."""
        words: list[WordSyntax] = []
        self.skip(BLANKS)
        while self.position < self.size and not self.text.startswith(
            "#", self.position
        ):
            word = self.word()
            if word is None:
                break
            words.append(word)
            self.skip(BLANKS)
        return words

    def _case(self, start: int) -> Statement:
        self.skip(BLANKS)
        subject = self.word() or self.plain(self.position, self.position)
        self._expect("in", start)
        arms: list[tuple[tuple[WordSyntax, ...], Block]] = []
        stops = frozenset({";;", "esac"})
        while True:
            self.gap(LINES)
            position = self.position
            if position >= self.size or self._token(position) == "esac":
                break
            patterns = self._patterns()
            arms.append((patterns, self._block(stops)))
            end = _CASE_END.match(self.text, self.position)
            if end is not None:
                self.position = end.end()
            elif self.position == position:
                self.refuse(f"unexpected {self.text[position]!r}", position)
                self.position += 1
        self._expect("esac", start)
        return Case(subject, tuple(arms))

    def _patterns(self) -> tuple[WordSyntax, ...]:
        """The patterns before the closing bracket of a case."""
        patterns: list[WordSyntax] = []
        if self.text.startswith("(", self.position):
            self.position += 1
        while True:
            patterns += self._words()
            if not self.text.startswith("|", self.position):
                break
            self.position += 1
        if self.text.startswith(")", self.position):
            self.position += 1
        return tuple(patterns)

    def _function(self, start: int) -> Statement:
        self.skip(BLANKS)
        name = self.word()
        self.skip(_NO_ARGUMENTS)
        if name is None:
            self.refuse("a function without a name", start)
        return self._function_body(name.text if name else "")

    def _test(self, start: int) -> Statement:
        text = self.text
        words: list[WordSyntax] = []
        while self.unclosed < MAX_UNCLOSED:
            self.gap(LINES)
            position = self.position
            if text.startswith("]]", position):
                self.position += len("]]")
                return Test(tuple(words))
            if position >= self.size:
                break
            operator = _TEST_OPERATOR.match(text, position)
            pattern = None
            if words and words[-1].text == "=~":
                pattern = _PATTERN.match(text, position)
            if pattern is not None:
                words.append(self.opaque(*pattern.span()))
                self.position = pattern.end()
            elif operator is not None:
                words.append(self.plain(*operator.span()))
                self.position = operator.end()
            elif (word := self.word()) is not None:
                words.append(word)
        self.refuse("'[[' without its ']]'", start)
        self.unclosed += 1
        end = text.find("\n", start)
        self.position = self.size if end < 0 else end
        return Test(())

    _COMPOUND: ClassVar[Mapping[str, Callable[..., Statement]]] = {
        "{": _group,
        "(": _subshell,
        "if": _if,
        "for": _for,
        "select": _for,
        "while": _while,
        "until": _while,
        "case": _case,
        "function": _function,
        "[[": _test,
    }
