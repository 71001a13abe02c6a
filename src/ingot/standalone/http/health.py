"""Health: /healthz, /livez and /readyz, in one word or check by check."""

from collections.abc import Callable, Mapping

from aiohttp import web
from multidict import MultiMapping

from ingot.standalone.http import answers

TEXT = "text/plain; charset=utf-8"

Check = Callable[[], bool]


class Health:
    """Answers from named checks, as kube-apiserver does from its own."""

    def __init__(self, ready: Check) -> None:
        alive: dict[str, Check] = {"ping": lambda: True}
        self._checks: Mapping[str, Mapping[str, Check]] = {
            "healthz": alive,
            "livez": alive,
            "readyz": {**alive, "started": ready},
        }

    def answer(self, path: str, query: MultiMapping[str]) -> web.Response | None:
        """The answer at a path such as `/readyz` or `/readyz/ping`; None where there is none."""
        name, _, one = path.strip("/").partition("/")
        checks = self._checks.get(name, {})
        if not one:
            return _report(name, checks, query) if checks else None
        if one not in checks:
            return None
        if checks[one]():
            return answers.answer(b"ok", media=TEXT)
        return answers.answer(f"internal server error: {one} failed\n".encode(), 500, media=TEXT)


def _report(name: str, checks: Mapping[str, Check], query: MultiMapping[str]) -> web.Response:
    """Says ok, or what failed; `verbose` asks for every check, `exclude` leaves one out."""
    excluded = query.getall("exclude", [])
    lines, failed = [], False
    for check, passes in checks.items():
        if check in excluded:
            lines.append(f"[+]{check} excluded: ok")
        elif passes():
            lines.append(f"[+]{check} ok")
        else:
            failed = True
            lines.append(f"[-]{check} failed: reason withheld")
    if unknown := sorted(set(excluded) - set(checks)):
        quoted = ",".join(f'"{check}"' for check in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}")
    if not failed and "verbose" not in query:
        return answers.answer(b"ok", media=TEXT)
    lines.append(f"{name} check {'failed' if failed else 'passed'}")
    return answers.answer("\n".join([*lines, ""]).encode(), 500 if failed else 200, media=TEXT)
