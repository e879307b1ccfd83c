"""Reference pages that are made from the code: the findings' codes, and the schemas of the patch
file and of what commands print.

``python -m kschedpatch.report.reference DIR`` writes them; a test compares them with the code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kschedpatch.model.codes import CODES
from kschedpatch.model.patch import SchedulerPatch
from kschedpatch.report.outputschema import output_schema

_SECTIONS = {
    "Y": "Text and YAML",
    "P": "The patch file",
    "M": "The manifest",
    "C": "The scheduler configuration",
    "R": "RBAC",
    "V": "Versions",
    "L": "Policy files",
    "U": "Migration",
    "N": "Nodes",
}

_HEAD = """\
# Findings

Every finding has a code that never changes its meaning. `error` stops the command before anything
is written (exit code 2); `warning` and `note` do not.

«The kubelet takes it» marks codes under which a file may be refused that the kubelet itself would
run: the reason says why it is an error all the same.
"""

_SECTION_HEADS = {
    "Y": """
`lint` of a KubeSchedulerConfiguration or a Policy on its own edits nothing: there such a text is a
`warning` as long as the scheduler's own reader takes it, and what it says is judged by all other
rules. What that reader refuses is an error, and so are the bounds (Y001, Y011, Y012).
""",
}


def schema_text() -> str:
    schema = SchedulerPatch.model_json_schema(by_alias=True)
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://kschedpatch.io/schemas/schedulerpatch-v1.json",
        **schema,
    }
    return _text(schema)


def output_schema_text() -> str:
    return _text(output_schema())


def _text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def findings_page() -> str:
    parts = [_HEAD]
    for letter, title in _SECTIONS.items():
        head = _SECTION_HEADS.get(letter, "")
        parts.append(f"\n## {title}\n{head}\n| code | severity | what | why |\n|---|---|---|---|\n")
        for code in sorted(CODES):
            if code.startswith(letter):
                item = CODES[code]
                why = ("The kubelet takes it. " if item.runs else "") + item.why
                why = why.replace("|", "\\|")
                parts.append(f"| {code} | {item.severity} | {item.title} | {why} |\n")
    return "".join(parts)


def pages() -> dict[str, str]:
    return {
        "findings.md": findings_page(),
        "schedulerpatch.schema.json": schema_text(),
        "output.schema.json": output_schema_text(),
    }


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
