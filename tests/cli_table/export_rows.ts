import type { Row } from "./row.ts";

/** A call of a month that is over, made elsewhere for a customer. */
const CALL =
  '{"call_id":"row-stated","at":"2026-10-05T09:30:00Z","agent_id":"nightly","provider":"demo","model":"echo",' +
  '"input_tokens":100,"output_tokens":10,"cost_usd":2,"tags":{"client":"acme"}}';

/** The rows on exports and statements; they see the calls of those before. */
export const EXPORT_ROWS: readonly Row[] = [
  {
    line: "export calls",
    code: 2,
    err: /^error: Cannot export: --to is missing; name a folder or s3:/,
    isOffline: true,
  },
  {
    line: "export calls --to $FOLDER/archive",
    out:
      /^Exported positions 1 to \d+: .*archive has \d+ entries, \d+ calls for [\d.]+ USD, from position 1, in 1 file\n$/,
  },
  { line: "export calls --to $FOLDER/archive", out: /^Nothing is new: / },
  {
    line: "export calls --to $FOLDER/archive --format csv",
    code: 1,
    err: /^error: Cannot export to .*archive: its files are parquet, not csv; name another folder\n$/,
  },
  {
    line: "export focus --version 1.3",
    code: 2,
    err: /--version: 1\.3 is not one of 1\.2, 1\.4/,
    isOffline: true,
  },
  {
    line: "export focus --month 2100-01",
    code: 2,
    err: /--month: 2100-01 is in the future/,
    isOffline: true,
  },
  { line: "export focus --format parquet", code: 2, err: /--to is missing; name a folder/, isOffline: true },
  {
    line: "export focus --month 2026-11 --version 1.2",
    out: /^BilledCost,[^\n]*,ProviderName,[^]*,demo:echo Input Tokens,/,
  },
  {
    line: "export focus --since 2026-11-01 --until 2026-12-01 --per-call --to $FOLDER/focus",
    out:
      /^Exported FOCUS 1\.4 of 2026-11-01 to 2026-12-01 to .*focus: \d+ rows, billed cost [\d.]+ USD, in 1 file\n$/,
  },
  {
    line: "statement",
    code: 2,
    err: /^error: Cannot make a statement: --by is missing; name a tag, such as team/,
    isOffline: true,
  },
  {
    line: "statement --by team --markup -5%",
    code: 2,
    err: /--markup: -5% is not a percentage from 0 to 100/,
    isOffline: true,
  },
  {
    line: "statement --by team --markup 1000%",
    code: 2,
    err: /--markup: 1000% is not a percentage/,
    isOffline: true,
  },
  { line: "report -", stdin: CALL, out: /^Booked 1 / },
  {
    line: "statement --by client --month 2026-10 --markup 5%",
    out:
      /^A draft of the statement of 2026-10 by client: 1 call\nCLIENT +AMOUNT +MARKUP 5% +TOTAL\nacme +\$2\.00 +\$0\.10 +\$2\.10\n/,
  },
  {
    line: "statement --by client --month 2026-10 --issue --json",
    out: /^\{"month":"2026-10","by":"client",.*"version":1,/,
  },
  {
    line: "statement --by client --month 2026-10 --version 1 --format csv",
    out: /^kind,subject,[^]*\r\nsubject_total,acme,[^]*,2\r\n/,
  },
  {
    line: "statement --by client --month 2026-10 --format html --output $FOLDER/statement.html",
    err: /^Wrote a draft of the statement of 2026-10 by client to .*statement\.html\n/,
  },
  { line: "statement --by clint --month 2026-10", code: 1, err: /did you mean client\?/ },
  {
    line: "statement --by client --month 2026-11 --issue --version 2",
    code: 2,
    err: /--version with --issue/,
    isOffline: true,
  },
  {
    line: "statement --by nope --month 2026-11",
    code: 1,
    err: /^error: Cannot make a statement by nope: no call has that tag/,
  },
];
