"""The first document of a YAML text as a tree, by the grammar of Go's reader; it reads no other."""

from __future__ import annotations

from kschedpatch.core.yamltext.bounds import MAX_DEPTH, TOO_DEEP
from kschedpatch.core.yamltext.goyaml.characters import Characters
from kschedpatch.core.yamltext.goyaml.cursor import Mark, Refused, Token
from kschedpatch.core.yamltext.goyaml.tokens import Tokens

_TAGS = {"!": "!", "!!": "tag:yaml.org,2002:"}
#: What ends a pair of a block mapping, a list entry under a key, a member in brackets.
_PAIR_ENDS = frozenset(["?", ":", "block end"])
_ITEM_ENDS = _PAIR_ENDS | {"-"}
_ENTRY_ENDS = frozenset(["-", "block end"])
_DOCUMENT_ENDS = frozenset(["%YAML", "%TAG", "---", "...", "end"])


class Raw:
    """A node as it is written. An alias has a ``target``, which may still be growing around it."""

    __slots__ = ("children", "end", "flow", "kind", "start", "style", "tag", "target", "value")

    def __init__(self, kind: str, start: Mark, end: Mark) -> None:
        self.kind = kind
        """``scalar``, ``mapping`` (keys and values in turn), ``sequence`` or ``alias``."""
        self.start = start
        self.end = end
        self.value = ""
        """Of a scalar; an alias' name."""
        self.style = ""
        self.tag = ""
        """In full; empty where there is none."""
        self.flow = False
        self.children: list[Raw] = []
        self.target: Raw | None = None


class Document:
    def __init__(self, given: Characters, max_nodes: int) -> None:
        self._tokens = Tokens(given)
        self._max_nodes = max_nodes
        self._count = 0
        self._anchors: dict[str, Raw] = {}
        self._tags: dict[str, str] = {}

    def root(self) -> Raw | None:
        """None where there is no document at all. Raises Refused."""
        token = self._tokens.peek()
        if token.kind == "end":
            return None
        if token.kind in _DOCUMENT_ENDS and token.kind != "...":
            self._directives()
            root = self._document_node()
        else:
            self._tags = dict(_TAGS)
            root = self._node(1, block=True)
        # Whatever stands next must be a token; what is behind it nobody looks at.
        self._tokens.peek()
        return root

    def _directives(self) -> None:
        version = False
        while (token := self._tokens.next()).kind != "---":
            if token.kind == "%YAML":
                if version or token.value != "1.1":
                    what = "a second %YAML directive" if version else "a YAML other than 1.1"
                    raise Refused("Y017", what, token.start)
                version = True
            elif token.kind == "%TAG":
                if token.value in self._tags:
                    raise Refused("Y017", "a second %TAG directive for one handle", token.start)
                self._tags[token.value] = token.more
            else:
                raise Refused("Y017", "a directive without --- behind it", token.start)
        self._tags = {**_TAGS, **self._tags}

    def _document_node(self) -> Raw:
        token = self._tokens.peek()
        if token.kind in _DOCUMENT_ENDS:
            return self._empty(token.start)
        return self._node(1, block=True)

    def _empty(self, mark: Mark) -> Raw:
        self._counted(mark, 0)
        return Raw("scalar", mark, mark)

    def _counted(self, mark: Mark, depth: int) -> None:
        self._count += 1
        if self._count > self._max_nodes:
            raise Refused("Y012", f"more than {self._max_nodes} values", mark)
        if depth > MAX_DEPTH:
            raise Refused("Y011", TOO_DEEP, mark)

    def _node(self, depth: int, *, block: bool, under_key: bool = False) -> Raw:
        token = self._tokens.peek()
        self._counted(token.start, depth)
        if token.kind == "*":
            return self._alias(self._tokens.next())
        start = token.start
        end = start
        anchor = tag = None
        while token.kind in ("&", "!") and (anchor if token.kind == "&" else tag) is None:
            if token.kind == "&":
                anchor = token
            else:
                tag = token
            end = self._tokens.next().end
            token = self._tokens.peek()
        raw = Raw("scalar", start, end)
        raw.tag = self._tag(tag) if tag is not None else ""
        if anchor is not None:
            self._anchors[anchor.value] = raw
        if under_key and token.kind == "-":
            self._entries_under_key(raw, depth)
        elif token.kind == "scalar":
            raw.value, raw.style, raw.end = token.value, token.more, token.end
            self._tokens.next()
        elif token.kind == "[":
            self._flow_sequence(raw, depth)
        elif token.kind == "{":
            self._flow_mapping(raw, depth)
        elif block and token.kind == "block sequence":
            self._block_sequence(raw, depth)
        elif block and token.kind == "block mapping":
            self._block_mapping(raw, depth)
        elif anchor is None and tag is None:
            raise Refused("Y007", "a value is missing here", token.start)
        return raw

    def _alias(self, token: Token) -> Raw:
        raw = Raw("alias", token.start, token.end)
        raw.value = token.value
        raw.target = self._anchors.get(token.value)
        if raw.target is None:
            raise Refused("Y010", f"no anchor &{token.value} stands before this alias", token.start)
        return raw

    def _tag(self, token: Token) -> str:
        if not token.value:
            return token.more
        tag = self._tags.get(token.value)
        if not tag:
            raise Refused("Y009", f"no %TAG says what {token.value} stands for", token.start)
        return tag + token.more

    def _block_sequence(self, raw: Raw, depth: int) -> None:
        raw.kind = "sequence"
        self._tokens.next()
        while (token := self._tokens.next()).kind == "-":
            raw.children.append(self._item(token, _ENTRY_ENDS, depth))
        if token.kind != "block end":
            raise Refused("Y007", "a list entry (-) is missing here", token.start)

    def _entries_under_key(self, raw: Raw, depth: int) -> None:
        """A list in the column of its key has no end of its own."""
        raw.kind = "sequence"
        while self._tokens.peek().kind == "-":
            raw.children.append(self._item(self._tokens.next(), _ITEM_ENDS, depth))

    def _item(self, dash: Token, ends: frozenset[str], depth: int) -> Raw:
        if self._tokens.peek().kind in ends:
            return self._empty(dash.end)
        return self._node(depth + 1, block=True)

    def _block_mapping(self, raw: Raw, depth: int) -> None:
        raw.kind = "mapping"
        self._tokens.next()
        while (token := self._tokens.next()).kind == "?":
            raw.children.append(self._pair_half(token, depth))
            token = self._tokens.peek()
            if token.kind == ":":
                raw.children.append(self._pair_half(self._tokens.next(), depth))
            else:
                raw.children.append(self._empty(token.start))
        if token.kind != "block end":
            raise Refused("Y007", "a key is missing here", token.start)

    def _pair_half(self, indicator: Token, depth: int) -> Raw:
        if self._tokens.peek().kind in _PAIR_ENDS:
            return self._empty(indicator.end)
        return self._node(depth + 1, block=True, under_key=True)

    def _flow_sequence(self, raw: Raw, depth: int) -> None:
        raw.kind, raw.flow = "sequence", True
        self._tokens.next()
        while self._goes_on(raw, "]"):
            if self._tokens.peek().kind == "?":
                raw.children.append(self._single_pair(depth + 1))
            else:
                raw.children.append(self._node(depth + 1, block=False))
        raw.end = self._tokens.next().end

    def _goes_on(self, raw: Raw, close: str) -> bool:
        """Whether one more member follows; a comma may stand before the bracket too."""
        token = self._tokens.peek()
        if raw.children and token.kind != close:
            if token.kind != ",":
                raise Refused("Y007", f"a comma or {close} is missing here", token.start)
            self._tokens.next()
            token = self._tokens.peek()
        return token.kind != close

    def _single_pair(self, depth: int) -> Raw:
        """`[a: b]`"""
        token = self._tokens.next()
        self._counted(token.start, depth)
        raw = Raw("mapping", token.start, token.end)
        raw.flow = True
        ends = (",", "]")
        token = self._tokens.peek()
        if token.kind in (":", *ends):
            # Go drops that token, whichever it is.
            raw.children.append(self._empty(self._tokens.next().end))
        else:
            raw.children.append(self._node(depth + 1, block=False))
        raw.children.append(self._flow_value(depth, ends))
        raw.end = self._tokens.peek().start
        return raw

    def _flow_value(self, depth: int, ends: tuple[str, ...]) -> Raw:
        token = self._tokens.peek()
        if token.kind == ":":
            self._tokens.next()
            token = self._tokens.peek()
            if token.kind not in ends:
                return self._node(depth + 1, block=False)
        return self._empty(token.start)

    def _flow_mapping(self, raw: Raw, depth: int) -> None:
        raw.kind, raw.flow = "mapping", True
        self._tokens.next()
        ends = (",", "}")
        while self._goes_on(raw, "}"):
            token = self._tokens.peek()
            if token.kind != "?":
                raw.children.append(self._node(depth + 1, block=False))
                raw.children.append(self._empty(self._tokens.peek().start))
                continue
            self._tokens.next()
            token = self._tokens.peek()
            if token.kind in (":", *ends):
                raw.children.append(self._empty(token.start))
            else:
                raw.children.append(self._node(depth + 1, block=False))
            raw.children.append(self._flow_value(depth, ends))
        raw.end = self._tokens.next().end
