import type { Row } from "./row.ts";

/** The rows on coding agents, which run these commands themselves; they need no ledger before. */
export const AGENT_ROWS: readonly Row[] = [
  { line: "statusline --check --template {today}", out: /^\$0\n$/ },
  { line: "statusline --check --template {tody}", code: 2, err: /did you mean \{today\}/, isOffline: true },
  { line: "statusline install --user", code: 2, err: /unknown option/, isOffline: true },
  { line: "statusline uninstall --user", code: 2, err: /unknown option/, isOffline: true },
  { line: "gate --agent codex", stdin: "", err: /: it is empty\n$/, isOffline: true },
  { line: "gate --agent codx", code: 2, err: /did you mean codex\?/, isOffline: true },
  { line: "gate install codx", code: 2, err: /did you mean codex\?/, isOffline: true },
  { line: "gate uninstall codx", code: 2, err: /did you mean codex\?/, isOffline: true },
];
