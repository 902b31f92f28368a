import type { Row } from "./row.ts";

/** Who has answered, which a server without keys doesn't know. */
const BY = /( by \S+)? at <time>/g;

/** Tickets, of which no call waits for an answer: the config of the sandboxes says so. */
export const APPROVAL_ROWS: readonly Row[] = [
  { line: "approvals list", out: /^No tickets wait\n$/ },
  { line: "approvals list --state open", code: 2, err: /--state/ },
  {
    line: "budgets add --name Asked --limit 0 --per day --agent other --action ask --warn-at none",
    out: /, stop, asks for more; /,
  },
  {
    line: "run other hi",
    code: 5,
    err: /has \$\S+ spent .* Ticket tkt_\w+ asks for more until .*; call again once it is approved/,
  },
  { line: "approvals list --json", out: /"state":"waiting"/, keep: ["TICKET", /"ticket_id":"(tkt_\w+)"/] },
  {
    line: "approvals list",
    out: /^ASKED \(UTC\) +BUDGET +MORE +BY .*\n.* Asked, agent other +\$0\.\d+ +other +echo +waiting +tkt_/,
  },
  { line: "approvals show $TICKET", out: /^Ticket +tkt_\w+\nState +waiting\nBudget +Asked, agent other\n/ },
  { line: "approvals show tkt_nope", code: 3, err: /Cannot find the ticket tkt_nope/ },
  { line: "approvals approve $TICKET", code: 2, err: /without --reason/ },
  { line: "approvals approve $TICKET --by 0 --reason x", code: 2, err: /not greater than 0/ },
  {
    line: "approvals approve $TICKET --by 1 --reason release",
    out: /^Approved: budget Asked, agent other is raised by \$1\n$/,
  },
  {
    line: "approvals approve $TICKET --reason again",
    code: 1,
    err: /it was approved .*at /,
    varying: BY,
  },
  {
    line: "approvals deny $TICKET --reason again",
    code: 1,
    err: /Cannot deny ticket tkt_\w+: it was approved/,
    varying: BY,
  },
  { line: "run other hi", out: /^You said: hi\n$/ },
  { line: "budgets remove Asked", out: /^Removed budget / },
  {
    line: "budgets add --name Asked --limit 0 --per day --agent other --action ask",
    out: /, asks for more; /,
  },
  { line: "run other hi", code: 5, err: /Ticket tkt_/ },
  { line: "approvals list --json", out: /waiting/, keep: ["NEXT", /"ticket_id":"(tkt_\w+)"/] },
  { line: "approvals deny $NEXT", code: 2, err: /without --reason/ },
  { line: "approvals deny $NEXT --reason tomorrow", out: /^Denied: the calls that wait for budget Asked/ },
  { line: "run other hi", code: 5, err: /was denied; the budget asks again from/ },
  { line: "approvals list --state all --limit 1", out: / denied /, err: /There are more/ },
  { line: "budgets remove Asked", out: /^Removed budget / },
];
