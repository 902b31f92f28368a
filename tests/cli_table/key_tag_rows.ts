import type { Row } from "./row.ts";

/** The rows that change the key `ci`. */
export const KEY_TAG_ROWS: readonly Row[] = [
  { line: "whoami anna", code: 2, err: /^error: Cannot use whoami with "anna"/, isOffline: true },
  { line: "keys set ci --api-key $KEY", code: 2, err: /give --tag, --untag, --expires, --stop-before/ },
  {
    line: "keys set ci --tag user=anna --tag team=search --api-key $KEY",
    out: /^Key key_\w+ ci: run, agent helper only, team=search, user=anna, until /,
  },
  { line: "keys set ci --untag a --api-key $KEY", code: 1, err: /the tag a: the key has only team, user/ },
  {
    line: "keys set ci --untag team --untag user --api-key $KEY",
    out: /^Key key_\w+ ci: run, agent helper only, until /,
  },
  { line: "keys set ci --tag a:b=c --api-key $KEY", code: 2, err: /a:b: a tag's key must be/ },
  {
    line: "keys set ci --allow-credits --api-key $KEY",
    out: /^Key key_\w+ ci: run, agent helper only, until /,
  },
];
