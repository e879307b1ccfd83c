#!/usr/bin/python
"""The kschedpatch command as an Ansible module: what it would do, what it did, how it stands.

It decides nothing by itself. It runs where kschedpatch is installed, mostly on the controller, and
kschedpatch reaches the nodes.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

DOCUMENTATION = r"""
module: kschedpatch
short_description: Change the scheduler of a kubeadm cluster without ever losing it
description:
  - Wraps the C(kschedpatch) command. C(state=present) is C(apply), C(state=absent) is C(rollback --to original).
  - One call is one roll-out over all control-plane nodes. Run it once, on the controller
    (C(delegate_to=localhost), C(run_once=true)).
  - Check mode is C(plan), or C(rollback --dry-run), and changes nothing.
options:
  executable: {type: path, default: kschedpatch, description: "The command, by name or path."}
  state: {type: str, choices: [present, absent], default: present, description: "Patched, or as before the first patch."}
  patch: {type: path, description: "The patch file. A relative path starts at the playbook's directory."}
  recipe: {type: str, description: "A recipe instead of a file."}
  plan:
    type: path
    description: "A plan that C(plan --out) wrote. Check mode can't look at one, and skips the task."
  nodes:
    type: list
    elements: str
    description: "Control-plane nodes as C([user@]host[:port]), all of them."
  inventory: {type: path, description: "An inventory file whose group C(kube_control_plane) has the nodes."}
  discover: {type: bool, default: false, description: "Ask the first node for the others."}
  local: {type: bool, default: false, description: "The machine that the module runs on is the node."}
  deployment: {type: str, description: "With C(state=absent): NAMESPACE/NAME of a scheduler that runs as a Deployment."}
  kubeconfig: {type: path, description: "For such a scheduler: kubectl on this machine instead of nodes."}
  ssh_config: {type: path, description: "Instead of C(~/.ssh/config)."}
  identity: {type: path, description: "The private key to log in with. It can't be unlocked here: use an agent."}
  known_hosts: {type: path, description: "Instead of the user's known_hosts."}
  accept_new_host_keys: {type: bool, default: false, description: "Trust hosts that were never seen, and remember them."}
  transport: {type: str, choices: [paramiko, openssh], description: "C(openssh) goes by the system's ssh."}
  connect_timeout: {type: float, description: "Seconds."}
  partial: {type: bool, default: false, description: "Although the cluster has other control-plane nodes as well."}
  persist: {type: bool, default: false, description: "Also tell kubeadm, so that upgrades keep the change."}
  probe: {type: bool, default: false, description: "Also send the patch's own probe pods through the new scheduler."}
  preflight: {type: bool, default: true, description: "Try the new scheduler once before anything is touched."}
  canary: {type: bool, default: true, description: "Run the new scheduler beside the live one first."}
  on_failure: {type: str, choices: [rollback-all, rollback-node, stop], description: "What the first failure does."}
  settle: {type: float, description: "Seconds without a restart that prove a scheduler."}
  timeout: {type: float, description: "Seconds until a scheduler must be ready."}
  pull_timeout: {type: float, description: "Seconds that the image may take on a node."}
  objects_timeout: {type: float, description: "Seconds that the patch's objects may take."}
  confirm_timeout: {type: int, description: "A node that hears nothing for so many seconds goes back by itself."}
  reason: {type: str, description: "One line, kept in the history of each node."}
  extra_args:
    type: list
    elements: str
    default: []
    description: "Further flags, such as C(--image=…): of C(plan) and C(apply) alike, or of C(rollback)."
attributes:
  check_mode: {support: full, description: "Nothing is changed. A kept plan can't be looked at."}
  diff_mode: {support: full, description: "The manifest of each node, the files, objects and kubeadm's configuration."}
author: [The kschedpatch maintainers]
notes:
  - sudo's password can't be given. Log in as root, or allow sudo without one.
"""

EXAMPLES = r"""
- name: The patched scheduler on every control-plane node
  kschedpatch:
    patch: "{{ playbook_dir }}/gpumps.yaml"
    nodes: "{{ groups['kube_control_plane'] }}"
    reason: GPU sharing for the lab
  delegate_to: localhost
  run_once: true

- name: The scheduler as kubeadm made it
  kschedpatch:
    state: absent
    nodes: [cp1, cp2, cp3]
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
exit_code: {type: int, returned: always, description: "Of kschedpatch: 0, 2, 3, 4, 5, 70 or 130."}
left_changed:
  type: bool
  returned: on failure
  description: "Whether a node was left other than before. Null where nobody can tell; C(advice) says what to do."
advice: {type: str, returned: on failure, description: "What to do now."}
conclusion: {type: str, returned: when a roll-out ran, description: "How it ended, in a sentence or two."}
run: {type: str, returned: when a roll-out ran, description: "The id of the run, for C(rollback --to)."}
nodes: {type: list, elements: dict, returned: when nodes were looked at, description: "What became of each."}
failure: {type: dict, returned: when a roll-out failed, description: "Node, phase, reason, last lines of the log."}
findings: {type: list, elements: dict, returned: always, description: "Errors, warnings and notes, with stable codes."}
command: {type: list, elements: str, returned: always, description: "The command that told this."}
"""

MAX_OUTPUT = 32 << 20
MAX_SAID = 4000
MAX_FILE = 64 << 10

Values = Mapping[str, Any]

ARGUMENTS: dict[str, Any] = {
    "executable": {"type": "path", "default": "kschedpatch"},
    "state": {"choices": ["present", "absent"], "default": "present"},
    **{name: {"type": "path"} for name in ("patch", "plan", "inventory", "kubeconfig")},
    **{name: {"type": "path"} for name in ("ssh_config", "identity", "known_hosts")},
    **{name: {"type": "str"} for name in ("recipe", "deployment", "reason")},
    "nodes": {"type": "list", "elements": "str"},
    "transport": {"choices": ["paramiko", "openssh"]},
    "on_failure": {"choices": ["rollback-all", "rollback-node", "stop"]},
    **{name: {"type": "bool", "default": False} for name in ("discover", "local", "partial")},
    **{name: {"type": "bool", "default": False} for name in ("persist", "probe")},
    "accept_new_host_keys": {"type": "bool", "default": False},
    **{name: {"type": "bool", "default": True} for name in ("preflight", "canary")},
    **{name: {"type": "float"} for name in ("connect_timeout", "settle", "timeout")},
    **{name: {"type": "float"} for name in ("pull_timeout", "objects_timeout")},
    "confirm_timeout": {"type": "int"},
    "extra_args": {"type": "list", "elements": "str", "default": []},
}

# Which flag goes with which command. Where nothing is given, kschedpatch's own default counts.
WAY = (
    *("inventory", "discover", "local", "kubeconfig", "ssh_config", "identity", "known_hosts"),
    *("accept_new_host_keys", "transport", "connect_timeout"),
)
PATCH = ("partial", "persist")
ROLL_OUT = ("probe", "on_failure", "pull_timeout", "objects_timeout")
ANY_CHANGE = ("reason", "settle", "timeout", "confirm_timeout")
LEFT_OUT = {"preflight": "--no-preflight", "canary": "--no-canary"}

#: By exit code: whether a node was left changed (None: nobody can tell), and what to do.
ENDS = {
    2: (False, "Nothing was changed. Correct what is named above, and run it again."),
    3: (False, "Nothing live was touched. Correct what is named above, and run it again."),
    4: (False, "Every node is back on what it ran before. Look at the failure's log lines."),
    5: (True, "kschedpatch status shows how the nodes stand, kschedpatch rollback puts them back."),
    70: (None, "A bug of kschedpatch. kschedpatch status shows how the nodes stand."),
    130: (None, "It was interrupted. kschedpatch status shows how the nodes stand."),
}
KILLED = (None, "It was killed: nodes that were changed go back by themselves. kschedpatch status.")
STRANGE = (None, "This is no kschedpatch that the module knows. See what executable names.")


def flags(values: Values, names: Iterable[str]) -> list[str]:
    """``--name=value``: in one word, so that no value can be taken for a flag."""
    words = []
    for name in names:
        value = values.get(name)
        flag = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            words += [flag] if value else []
        elif value is not None:
            words.append(f"{flag}={value}")
    return words


def command_words(params: Values, command: str, *, dry_run: bool = False) -> list[str]:
    """The command as a list: plan, apply or rollback; never a shell's text."""
    words = [params["executable"], command, "--output=json", "--quiet", *flags(params, WAY)]
    if command == "rollback":
        words += ["--to=original", *flags(params, ["deployment"])]
    else:
        words += flags(params, PATCH)
        given = {"file": params["patch"], "recipe": params["recipe"], "plan": params["plan"]}
        words += flags(given, given)
    if command == "apply":
        words += flags(params, ROLL_OUT)
        words += [flag for name, flag in LEFT_OUT.items() if not params[name]]
    if dry_run:
        words += ["--dry-run"]
    elif command != "plan":
        words += ["--yes", *flags(params, ANY_CHANGE)]
    # What follows the two dashes is a node, whatever it looks like.
    return [*words, *params["extra_args"], "--", *(params["nodes"] or ())]


def run(words: list[str]) -> tuple[int, dict[str, Any] | None, str]:
    """Exit code, the document on standard output (None: there is none), and what else was said."""
    environment = dict(os.environ, NO_COLOR="1")
    # Files, not pipes: nothing to fill up. No input: nobody is there to answer a question.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(  # noqa: S603  a list of words
            words, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        while True:
            try:
                code = process.wait()
                break
            except KeyboardInterrupt:
                pass  # it got the same signal, and is putting the nodes back
        out.seek(0)
        text = out.read(MAX_OUTPUT + 1)
        err.seek(max(0, err.seek(0, os.SEEK_END) - MAX_SAID))
        return code, document(text), shown(err.read().decode("utf-8", "replace"))


def document(text: bytes) -> dict[str, Any] | None:
    if len(text) > MAX_OUTPUT:
        return None
    try:
        body = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    known = isinstance(body, dict) and body.get("apiVersion") == "kschedpatch.io/v1"
    return body if known and isinstance(body.get("changed"), bool) else None


def shown(text: str) -> str:
    """A node's words may hold anything; a terminal should not obey it."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def difference(body: Values) -> list[dict[str, str]]:
    """The plan as Ansible shows differences: one text for each node, file, object."""
    parts = [f"{node['node']}:\n{node['diff']}" for node in body.get("nodes", ()) if node["diff"]]
    # A plan names its generation also where the nodes have it.
    new = {node.get("generation") for node in body.get("nodes", ()) if node.get("changed")}
    for generation in body.get("generations", ()):
        for file in generation["files"] if generation["id"] in new else ():
            content = (file["content"] or f"sha256 {file['sha256']}")[:MAX_FILE]
            lines = "".join(f"+{line}\n" for line in content.splitlines())
            parts.append(f"+++ {generation['directory']}/{file['name']}\n{lines}")
    # A Deployment's plan has nothing but objects.
    objects = body.get("objectChanges", body.get("objects", ()))
    parts += [f"{o['object']}: {o['action']}\n" for o in objects if o["action"] != "unchanged"]
    kubeadm = (body.get("persist") or {}).get("configDiff") or ()
    parts.append("".join(f"{line}\n" for line in kubeadm))
    return [{"prepared": shown(part)} for part in parts if part]


def result_of(words: list[str], code: int, body: Values | None) -> dict[str, Any]:
    kept = ("run", "conclusion", "nodes", "failure", "objects", "notes", "leftovers")
    found = {name: body[name] for name in kept if name in body} if body else {}
    findings = body["findings"] if body else []
    return dict(found, command=words, exit_code=code, findings=findings)


def failure_of(words: list[str], code: int, body: Values | None, said: str) -> dict[str, Any]:
    """What was said, whether anything was left changed, and what to do."""
    left, advice = ENDS.get(code, KILLED if code < 0 else STRANGE)
    told = []
    if body:
        told += [one["message"] for one in body["findings"] if one["severity"] == "error"]
        failure = body.get("failure") or {}
        told += [f"{failure['node']}: {failure['detail']}"] if failure.get("detail") else []
        told += [body["conclusion"]] if body.get("conclusion") else []
        told += [f"Now: {body['next']}."] if body.get("next") else []
    if not told:
        told = [said.strip() or "It said nothing that can be read."]
    title = f"kschedpatch {words[1]} ended with exit code {code}"
    msg = shown(f"{title}: {' '.join(told)} {advice}")
    changed = bool(left or (body and body["changed"]))
    more = {"msg": msg, "changed": changed, "left_changed": left, "advice": advice, "stderr": said}
    return dict(result_of(words, code, body), **more)


def main() -> None:
    # Only here: all that is above can be tested without Ansible.
    from ansible.module_utils.basic import (  # type: ignore[import-not-found]  # noqa: PLC0415
        AnsibleModule,
    )

    module = AnsibleModule(
        argument_spec=ARGUMENTS,
        mutually_exclusive=[["patch", "recipe", "plan"]],
        required_if=[["state", "present", ["patch", "recipe", "plan"], True]],
        supports_check_mode=True,
    )
    params = module.params
    if os.sep not in params["executable"]:
        params["executable"] = module.get_bin_path(params["executable"], required=True)
    absent, looks = params["state"] == "absent", module.check_mode
    if looks and params["plan"] and not absent:
        module.exit_json(skipped=True, msg="A kept plan is carried out or not; check its patch.")

    def told(words: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        try:
            code, body, said = run(words)
        except OSError as error:
            raise SystemExit(module.fail_json(msg=f"{words[0]}: {error.strerror}")) from None
        if code != 0 or body is None:
            raise SystemExit(module.fail_json(**failure_of(words, code, body, said)))
        return body, result_of(words, code, body)

    differences: list[dict[str, str]] = []
    if looks or (module._diff and not params["plan"]):
        command = "rollback" if absent else "plan"
        body, result = told(command_words(params, command, dry_run=absent))
        differences = difference(body) if module._diff else []
        if looks or not body["changed"]:
            module.exit_json(changed=body["changed"], diff=differences, **result)
    body, result = told(command_words(params, "rollback" if absent else "apply"))
    module.exit_json(changed=body["changed"], diff=differences, **result)


if __name__ == "__main__":
    main()
