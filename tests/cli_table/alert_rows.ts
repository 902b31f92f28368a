import type { Row } from "./row.ts";

/** The rows on alerts, channels and digests; `helper` of the rows before runs, and fires one. */
export const ALERT_ROWS: readonly Row[] = [
  { line: "alerts list", out: /^No alert rules yet/ },
  {
    line: "alerts add --name Daily --threshold-usd 1000 --threshold-type per_day_usd --severity warning",
    out: /^Added rule rule_\w+ Daily: /,
    keep: ["RULE", /(rule_\w+)/],
  },
  {
    line: "alerts add --name Bill --threshold-usd 5 --threshold-type unexplained_above --severity warning",
    out: /^Added rule rule_\w+ Bill: warning at \$5 unexplained in a month of any bill, once per month\n/,
  },
  { line: "alerts remove Bill", out: /^Removed / },
  { line: "alerts add --name Daily --threshold-usd 0", code: 2, err: /without --threshold-type, --severity/ },
  {
    line: "alerts add --name D --threshold-usd 1 --threshold-type per_day_usd --severity warn",
    code: 2,
    err: /did you mean warning\?/,
  },
  {
    line:
      "alerts add --name D --threshold-usd 1 --threshold-type per_day_usd --severity info --agent x --json",
    out: /"agent_id":"x"/,
  },
  { line: "alerts disable $RULE", out: /disabled/i },
  {
    line: "alerts show Daily",
    out: /^Fires +warning at \$1,000 in a day of all agents, again after 1h; it is disabled\n/m,
  },
  { line: "alerts show Dialy", code: 3, err: /did you mean "Daily"\?\n$/ },
  { line: "alerts enable Daily", out: /^Enabled rule rule_\w+ Daily\n$/ },
  {
    line: "alerts set Daily --threshold-usd 500 --cooldown 60",
    out: /\$500 in a day of .*again after 1m\n$/,
  },
  { line: "alerts set daily --severity info", code: 3, err: /did you mean "Daily"\?\n$/ },
  { line: "alerts enable $RULE --json", out: /"enabled":true/ },
  { line: "alerts enable rule_nope", code: 3, err: /rule_nope/ },
  { line: "alerts disable rule_nope --json", code: 3, err: /"code":"not_found"/ },
  { line: "alerts test rule_nope", code: 3, err: /rule_nope/ },
  { line: "alerts list", out: /^NAME .*\nD(aily)? / },
  { line: "alerts test $RULE", code: 1, out: /^log +log +delivered .*\nhook +webhook +failed /m },
  { line: "alerts history --limit 5", out: /\[test\] Daily/ },
  {
    line: "alerts history --json",
    out: /"test":true/,
    keep: ["ALERT", /"alert_id":"(alert_\w+)"/],
    varying: /dlv_\w+|"last_error":"[^"]*"/g,
  },
  { line: "alerts resend $ALERT", code: 1, out: /^log +log +delivered .*\nhook +webhook +failed /m },
  {
    line: "alerts ack $ALERT",
    code: 1,
    err: /Cannot acknowledge alert alert_\w+: it is resolved already/,
  },
  { line: "alerts ack alert_nope --note x --json", code: 3, err: /"code":"not_found"/ },
  {
    line: "alerts add --name Cent --threshold-usd 0.000000001 --threshold-type per_day_usd --severity info",
    out: /^Added rule /,
  },
  { line: "run helper cents", out: /^You said: cents\n$/, varying: /.+/g },
  {
    line: "alerts history --limit 1 --json",
    out: /"rule_name":"Cent",.*"state":"firing"/,
    keep: ["FIRED", /"alert_id":"(alert_\w+)"/],
    varying: /.+/g,
  },
  {
    line: "alerts ack $FIRED --note planned",
    out: /^Acknowledged alert alert_\w+\n$/,
    varying: /alert_\w+/g,
  },
  { line: "alerts resend alert_nope --json", code: 3, err: /"code":"not_found"/ },
  { line: "alerts remove $RULE", out: /^Removed rule / },
  { line: "alerts remove $RULE", code: 3, err: /^error: Cannot find/ },
  { line: "digest", out: /^Spending on \d{4}-\d\d-\d\d: \$/, varying: /\d{4}-\d\d-\d\d|month .*/g },
  { line: "digest --weekly --json", out: /"period":"weekly"/, varying: /.+/g },
  { line: "digest --send log", out: /^log +log +delivered /m },
  { line: "digest --send nope", code: 3, err: /Cannot find channel nope/ },
  { line: "channels list", out: /^NAME .*\nlog .*\nhook / },
  { line: "channels test log", out: /^log +log +delivered/m },
  { line: "channels test hook --json", code: 1, out: /"channel":"hook"/ },
  { line: "channels test nope", code: 3, err: /nope/ },
];
