"""The text of an expression as people see it, with ‹names› for what is filled in."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator

#: What an expression ends in, and what people would call it.
_NAMES = {
    "label": "node",
    "error": "reason",
    "strerror": "reason",
    "why": "reason",
    "told": "what is missing",
    "said": "its words",
    "shown": "its words",
    "text": "value",
    "detail": "reason",
    "err": "its words",
    "filename": "file",
    "location": "file",
    "there": "what is there",
    "verb": "step",
    "name": "name",
    "spent": "time",
    "record": "its words",
    "user": "user",
    "named": "value",
    "offered": "keys",
    "what": "what",
    "held": "digests",
    "problems": "why",
    "holderIdentity": "who",
    "waited": "time",
    "quiet": "time",
    "kind": "type",
    "match": "value",
    "pair": "value",
    "line": "line",
    "unsupported": "why it is not supported",
    "format": "number",
    "type": "what",
    "first": "its first error",
    "odd": "names",
    "empty": "name",
    "monotonic": "time",
    "now": "time",
    "len": "count",
    "splitlines": "its words",
    "tried": "what was tried",
    "locked": "key",
    "listed": "files",
    "done": "files",
    "out": "directory",
    "old": "file",
    "parent": "path",
    "to": "value",
    "silent": "time",
    "command_path": "command",
    "image_id": "image's id",
}
_WRAPPERS = frozenset({"str", "printable", "printable_lines", "repr", "ascii", "ceil", "lower"})
_WORDS = re.compile(r"[A-Za-z]{2}")


def has_words(template: str) -> bool:
    """Otherwise it only hands on what somebody else has to say."""
    return bool(_WORDS.search(re.sub(r"‹[^›]*›", "", template)))


class Module:
    """A parsed module, and what its names stand for."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.tree = ast.parse(source)
        self.above: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.above[child] = node

    def template(self, node: ast.AST) -> str:
        return " ".join(self._text(node).split())

    def _text(self, node: ast.AST) -> str:
        match node:
            case ast.Constant(value):
                return str(value)
            case ast.JoinedStr(values):
                return "".join(map(self._text, values))
            case ast.FormattedValue(ast.BinOp(left, ast.Add() | ast.Sub(), _)):
                return self._text(left)  # a sum of numbers
            case ast.FormattedValue(value):
                return self._text(value)
            case ast.BinOp(left, ast.Add(), right):
                return self._text(left) + self._text(right)
            case ast.List(items) if items:
                return self._text(items[0])
            case ast.IfExp(_, body, other):
                return _either(self._text(body), self._text(other))
            case ast.BoolOp(_, values):
                return self._text(values[0])
            case ast.Name(name):
                return self._named(node, name)
            case ast.Call():
                return self._called(node)
            case ast.BinOp(ast.Name(name), ast.RShift(), ast.Constant(int(bits))):
                constant = self._constant(name)
                return str(constant >> bits) if isinstance(constant, int) else _hole(name)
            case ast.BinOp(left, _, _):
                return self._text(left)
            case ast.Attribute(_, attribute):
                return _hole(attribute)
            case ast.Subscript(value, ast.Constant(str(key))):
                return _hole(key)
            case ast.Subscript(value, _):
                return self._text(value)
        return _hole(ast.unparse(node))

    def _constant(self, name: str) -> object:
        if name.strip("_").isupper():
            return getattr(importlib.import_module(self.name), name, None)
        return None

    def _named(self, node: ast.AST, name: str) -> str:
        constant = self._constant(name)
        if isinstance(constant, str | int | float):
            return f"{constant:g}" if isinstance(constant, float) else str(constant)
        text: str | None = None
        for step, always in self._assigned(node, name):
            if not _is_text(step.value):
                text = _hole(name) if always else text
            elif isinstance(step, ast.AugAssign):
                more = self._text(step.value)
                text = (text or "") + (more if always else f"[{more}]")
            elif always or text is None:
                text = self._text(step.value)
            else:
                text = _either(text, self._text(step.value))
        return _hole(name) if text is None else text

    def _assigned(
        self, node: ast.AST, name: str
    ) -> Iterator[tuple[ast.Assign | ast.AugAssign, bool]]:
        """What the name is given before it is used here, and whether that happens on every way."""
        blocks, function = set(), node
        while not isinstance(function, ast.FunctionDef | ast.Module):
            function = self.above[function]
            blocks.add(function)
        for step in ast.walk(function):
            if not isinstance(step, ast.Assign | ast.AugAssign):
                continue
            if step.lineno >= getattr(node, "lineno", 0):
                continue
            target = step.targets[0] if isinstance(step, ast.Assign) else step.target
            if isinstance(target, ast.Name) and target.id == name:
                parent = self.above[step]
                if parent in blocks:
                    yield step, True
                elif isinstance(parent, ast.If) and not _leaves(parent):
                    yield step, False

    def _called(self, node: ast.Call) -> str:
        name = last_name(node.func)
        if name == "join" and node.args:
            return self._text(_inner(node.args[0]))
        if name in _WRAPPERS and node.args:
            return self._text(node.args[0])
        if name == "get" and node.args and isinstance(node.args[0], ast.Constant):
            return _hole(str(node.args[0].value))
        if name in _WRAPPERS and isinstance(node.func, ast.Attribute):
            return self._text(node.func.value)
        for item in self.tree.body:
            if isinstance(item, ast.FunctionDef) and item.name == name:
                returned = [step for step in ast.walk(item) if isinstance(step, ast.Return)]
                values = [step.value for step in returned if step.value is not None]
                texts = [self._text(value) for value in values]
                return next((text for text in texts if has_words(text)), _hole(name))
        return _hole(name)


def last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_text(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, str)
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, ast.Add)
    return isinstance(value, ast.JoinedStr | ast.IfExp)


def _leaves(branch: ast.If) -> bool:
    return isinstance(branch.body[-1], ast.Return | ast.Raise | ast.Continue)


def _inner(node: ast.expr) -> ast.expr:
    """What a list is made of, where it is made in place."""
    return node.elt if isinstance(node, ast.GeneratorExp | ast.ListComp) else node


def _either(one: str, other: str) -> str:
    if not one or not other:
        return f"[{one or other}]"
    return f"{one} / {other}"


def _hole(expression: str) -> str:
    words = expression.strip("_")
    return f"‹{_NAMES.get(words, words.replace('_', ' '))}›"
