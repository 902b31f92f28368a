import { AGENT_ROWS } from "./agent_rows.ts";
import { ALERT_ROWS } from "./alert_rows.ts";
import { APPROVAL_ROWS } from "./approval_rows.ts";
import { COST_ROWS } from "./cost_rows.ts";
import { EXPORT_ROWS } from "./export_rows.ts";
import { KEY_TAG_ROWS } from "./key_tag_rows.ts";
import type { Row } from "./row.ts";

/**
 * Every command, as a story: later rows see the effects of earlier ones. A row that fails does so on purpose.
 */
export const ROWS: readonly Row[] = [
  // The command line itself
  { line: "--help", out: /^Purser runs LLM agents/, isOffline: true },
  { line: "--version", out: /^purser \d/, isOffline: true },
  { line: "alerts add --help", out: /Examples:/, isOffline: true },
  { line: "agents", code: 2, err: /^Usage: purser agents COMMAND/, isOffline: true },
  {
    line: "demo",
    out:
      /The calculator says 391\.[^]*its budget is \$0\.0002\n[^]*\(exit code 5\)[^]*\nlooper [^]*\nTry next: purser cost /,
    isOffline: true,
    needsProcess: true,
    varying: /purser_demo_\w+/g,
  },
  {
    line: "demo --db x.db",
    code: 2,
    err: /it runs its own commands on a database of its own/,
    isOffline: true,
  },
  { line: "sources --limit 0", code: 2, err: /--limit/ },
  { line: "import claude-cod", code: 2, err: /did you mean claude-code\?/, isOffline: true },
  { line: "agnets list", code: 2, err: /did you mean agents\?/, isOffline: true },
  { line: "cost --jsn", code: 2, err: /did you mean --json\?/, isOffline: true },
  { line: "cost --by modle --json", code: 2, err: /"code":"invalid"/, isOffline: true },
  { line: "sessions list --limit 0", code: 2, err: /--limit/, isOffline: true },
  { line: "agents show ../..", code: 2, err: /as an id/, isOffline: true },
  { line: "cost --profile nope", code: 2, err: /^error: Cannot use --profile: /, isOffline: true },
  { line: "completions zsh", out: /^#compdef purser\n/, isOffline: true },
  { line: "completions zhs", code: 2, err: /not one of bash, zsh, fish, powershell/, isOffline: true },
  {
    line: "gateway env openai --server https://purser.example.com",
    out:
      /^export OPENAI_BASE_URL=https:\/\/purser\.example\.com\/openai\/v1\nexport OPENAI_API_KEY="\$PURSER_API_KEY"\n$/,
    isOffline: true,
  },
  { line: "capture", code: 2, err: /^error: Cannot capture without a COMMAND/, isOffline: true },
  ...AGENT_ROWS,
  { line: "gateway env opnai", code: 2, err: /not one of openai, .*did you mean openai\?/, isOffline: true },
  {
    line: "otlp env gemini --server https://purser.example.com",
    out: /^export GEMINI_TELEMETRY_ENABLED=true\n[^]*="Authorization=Bearer \$PURSER_API_KEY"\n/,
    isOffline: true,
  },
  {
    line: "otlp env claude",
    code: 2,
    err: /not one of claude-code, codex, gemini, node, python/,
    isOffline: true,
  },
  {
    line: "dashboard --server http://127.0.0.1:1 --no-open",
    out: /^http:\/\/127\.0\.0\.1:1\/ui\/\n$/,
    isOffline: true,
  },
  { line: "dashboard --server nope", code: 2, err: /^error: Cannot use --server/, isOffline: true },
  { line: "serve --port 99999", code: 2, err: /^error: Cannot use --port: /, isOffline: true },
  {
    line: "sessions list --db $FOLDER/typo.db",
    code: 3,
    err: /^error: Cannot open database .*typo\.db, named by --db: there is no such file/,
    isOffline: true,
  },
  {
    line: "backup --to $FOLDER/backup.db --server http://127.0.0.1:1",
    code: 2,
    err: /^error: Cannot back up the database of a server from here: run purser backup on its machine/,
    isOffline: true,
  },
  { line: "restore", code: 2, err: /^error: Cannot restore: --from is missing/, isOffline: true },
  {
    line: "prices update --server http://127.0.0.1:1",
    code: 2,
    err: /^error: Cannot update the prices of a server from here: run purser prices update on its machine/,
    isOffline: true,
  },

  // An empty database
  { line: "agents list", out: /^No agents yet/ },
  { line: "sessions list", out: /^No sessions yet\n$/ },
  { line: "alerts history", out: /^No alerts yet\n$/ },
  { line: "cost", out: /^No model call has been booked yet\n$/ },

  // Agents and runs
  {
    line: "agents set helper --model demo:echo --tool calculator --budget 0.01",
    out: /^Created agent helper/,
  },
  { line: "agents set helper --system Brief. --json", out: /"system_prompt":"Brief\."/ },
  { line: "agents set bare", code: 2, err: /without --model/ },
  { line: "agents add spare --model demo:echo", out: /^Added agent spare: demo:echo, no budget\n$/ },
  {
    line: "agents add spare --model demo:echo",
    code: 1,
    err: /an agent of that name exists; change it with purser /,
  },
  { line: "agents remove spare", out: /^Removed agent spare/ },
  { line: "agents set bad --model nope:x", code: 1, err: /nope/ },
  { line: "agents set bad --model demo:echo --tool nope --json", code: 1, err: /"code":"invalid"/ },
  { line: 'run helper "What is 17 * 23?" --session first', out: /391/, err: /^2 steps · .* · first\n$/ },
  { line: "run helper - --session first", stdin: "again\n", out: /^You said: again\n$/ },
  {
    line: "run helper hello --json",
    out: /"output":"You said: hello"/,
    keep: ["SESSION", /"session_id":"([^"]+)"/],
  },
  { line: "run nope hello", code: 3, err: /^error: Cannot find agent nope\n$/ },
  { line: "run hlper hello", code: 3, err: /^error: Cannot find agent hlper; did you mean helper\?\n$/ },
  {
    line: "agents set looper --model demo:loop --tool calculator --budget 0.0002",
    out: /^Created agent looper/,
  },
  {
    line: "run looper go --session second",
    code: 5,
    err: /its budget is \$0\.0002\n.*sessions show second\n$/,
  },
  { line: "run looper go --session second --json", code: 5, err: /"code":"budget_exceeded","details":/ },
  { line: "agents list", out: /^AGENT .*\nhelper .*\nlooper / },
  { line: "agents show helper", out: /^Model calls +4$/m },
  { line: "agents show helper --json", out: /"model_calls":4/ },
  {
    line: "agents show nope",
    code: 3,
    err: /^error: Cannot find agent nope; purser agents list shows all\n$/,
  },
  { line: "agents show nope --json", code: 3, err: /"code":"not_found"/ },

  ...COST_ROWS,
  ...EXPORT_ROWS,

  // Budgets
  { line: "budgets list", out: /^No budgets yet/ },
  { line: "budgets check", out: /^No budget applies\n$/ },
  {
    line: "budgets add --name Day --limit 1000 --per day --warn-at 50%,100%",
    out: /^Added budget bud_\w+ Day: \$1,000 for a day of all agents, stop; warns at 50%, 100%\n$/,
    keep: ["BUDGET", /(bud_\w+)/],
  },
  {
    line:
      "budgets add --name Helper --limit 5 --per lifetime --agent helper --each session --mode strict --json",
    out: /"agent_id":"helper".*"each":"session","mode":"strict".*"state":"ok"/,
  },
  { line: "budgets add --name X --limit 1", code: 2, err: /without --per/ },
  {
    line: "budgets add --name X --limit 1 --per day --agent a --each agent --json",
    code: 1,
    err: /"path":"each"/,
  },
  { line: "budgets list", out: /^NAME .*\nDay .* of \$1,000 [^]*\nHelper / },
  { line: "budgets list --json", out: /"counter":\{"kind":"session","id":"/ },
  { line: "budgets show Day", out: /^Limit +\$1,000 for a day of all agents, stop; /m },
  { line: "budgets show $BUDGET --json", out: /"name":"Day"/ },
  { line: "budgets show nope", code: 3, err: /^error: Cannot find a budget named "nope"; / },
  { line: "budgets set Day --limit 900 --name Daily", out: /^Changed budget bud_\w+ Daily: \$900 for / },
  {
    line: "budgets set Daily --counts-from 2026-11-01",
    code: 1,
    err: /--counts-from: can't be together with per day/,
  },
  { line: "budgets set nope --limit 1 --json", code: 3, err: /"code":"not_found"/ },
  { line: "budgets disable Daily", out: /^Disabled budget bud_\w+ Daily\n$/ },
  { line: "budgets disable nope", code: 3, err: /^error: Cannot find a budget named "nope"; / },
  { line: "budgets enable Daily --json", out: /"enabled":true/ },
  { line: "budgets enable bud_nope", code: 3, err: /bud_nope/ },
  {
    line: "budgets raise Daily --usd 20 --for 24h --reason release",
    out: /^Raised budget Daily by \$20 until .* \$920 now/,
  },
  { line: "budgets raise Helper --usd 1 --json", out: /"extra_usd":1,"until":null,/ },
  { line: "budgets raise Daily --usd 1 --for 2020-01-01", code: 2, err: /not in the future/ },
  { line: "budgets show Daily", out: /^ *\$20 .* release$/m },
  { line: "budgets release Daily", code: 2, err: /without --reason/ },
  {
    line: "budgets release Helper --reason x",
    ...{ code: 1, out: /^$/, err: /it holds nothing for calls that are not in progress/ },
  },
  {
    line: "budgets check --agent helper --session first",
    out: /^BUDGET +LEFT .*\n(cost_budget_usd|Helper) [^]*\nDaily +\$919\.9/,
  },
  {
    line: "budgets add --name Watched --limit 0 --per day --action watch --warn-at none",
    out: /, stop, watch only; /,
  },
  { line: "budgets explain --agent helper --tag customer=acme", out: /^BUDGET +LEFT [^]*Watched +\$0 / },
  { line: "budgets explain --tag customer", code: 2, err: /not of the form key=value/ },
  { line: "budgets check --agent helper --json", out: /"name":"Watched".*"state":"reached"/ },
  { line: "budgets add --name Shut --limit 0 --per day --agent other --warn-at none", out: /^Added / },
  { line: "budgets check --agent other", code: 5, out: /^Shut .* reached /m },
  { line: "agents set other --model demo:echo", out: /^Created agent other/ },
  {
    line: "run other hi",
    code: 5,
    err: /the budget “Shut” \(\$0 per UTC day, agent other\) has \$0 spent and \$0 reserved; /,
  },
  { line: "run other hi --json", code: 5, err: /"refused_by":\[\{"budget_id":"bud_\w+","name":"Shut"/ },
  { line: "budgets show Shut", out: /^Refused +2 calls refused, the last at /m },
  { line: "budgets raise Shut --usd 1", out: /its limit is \$1 now, of which \$1 is left\n$/ },
  { line: "run other hi", out: /^You said: hi\n$/, err: /^1 step / },
  { line: "budgets check --agent other", out: /^Shut +\$0\.\d+ .* ok /m },
  {
    line: "budgets refusals --budget Shut --limit 1",
    out: /^WHEN \(UTC\) +BUDGET +REASON +SPENT +AGENT .*\n.* Shut +spent +\$0 of \$0 .*other /,
    err: /There are more/,
  },
  {
    line: "budgets refusals --agent other --since today --json",
    out: /"agent_id":"other",.*"provider":"demo","model":"echo"/,
  },
  { line: "budgets refusals --reason unpriced", out: /^No refused calls\n$/ },
  { line: "audit --by no-one", out: /^No changes\n$/ },
  { line: "audit --kind budgte", code: 2, err: /--kind/ },
  { line: "apply $FOLDER/nowhere.json", code: 1, err: /nowhere\.json: .*; nothing was changed/ },
  { line: "budgets refusals --budget Shtu", code: 1, err: /--budget: .*did you mean "Shut"\?/ },
  { line: "budgets refusals --agent othr", code: 3, err: /did you mean other\?/ },
  { line: "budgets show Helper", out: /^SESSION +SPENT +RESERVED +LEFT +STATE\nfirst +\$0\.\d+ /m },
  {
    line: "budgets add --name Odd --limit 1 --per day --agent help",
    out: /^Added /,
    err: /warning: .*help.*did you mean helper\?/,
  },
  { line: "budgets show Odd", out: /agent help\b|of help\b/, err: /did you mean helper\?/ },
  { line: "budgets remove Odd", out: /^Removed / },
  {
    line: "budgets add --name K --limit 1 --per day --key nope",
    code: 1,
    err: /--key: no API key has the name or the id "nope"/,
  },
  { line: "budgets remove Shut", out: /^Removed budget bud_\w+; / },
  { line: "budgets remove Shut", code: 3, err: /^error: Cannot find a budget named "Shut"/ },
  { line: "budgets remove $BUDGET --json", out: /^$/ },
  { line: "budgets remove Helper", out: /^Removed / },
  { line: "budgets remove Watched", out: /^Removed / },

  // Alerts and channels
  ...ALERT_ROWS,

  // The service
  {
    line: "doctor --json",
    out: /"name":"database","status":"ok"/,
    varying: /(?<="name":"(database|clock)","status":"ok",)"detail":"[^"]*"/g,
  },
  {
    line: "doctor",
    out: /^ok +database /m,
    varying: /^ok +(connection|database|clock) .*$/gm,
  },
  { line: "profiles list", out: /^No profiles in / },
  { line: "profiles add prod --server ftp://x", code: 2, err: /^error: Cannot use --server: / },
  {
    line: "profiles add prod --server https://books.example.com/ --api-key-file $FOLDER/key",
    out: /^Added profile prod: /,
  },
  { line: "profiles add prod --db x.db", code: 1, err: /it exists/ },
  { line: "profiles list --json", out: /"server":"https:\/\/books\.example\.com"/ },
  { line: "cost --profile prd", code: 2, err: /did you mean prod\?/ },
  {
    line: "cost --profile prod",
    code: 1,
    err: /^error: Cannot use the API key file .*key: no such file or directory/,
  },
  { line: "profiles remove prd", code: 3, err: /did you mean prod\?/ },
  { line: "profiles remove prod", out: /^Removed profile prod/ },
  { line: "config check", out: / is valid\n$/ },
  { line: "service install purser", code: 2, err: /purser/ },
  { line: "service uninstall purser", code: 2, err: /purser/ },
  { line: "agents remove helper", out: /^Removed agent helper/ },
  { line: "agents remove helper --json", code: 3, err: /"code":"not_found"/ },

  ...APPROVAL_ROWS,

  // Keys come last: once there is one, a server requires authentication.
  { line: "keys list", out: /^No keys yet/ },
  { line: "keys list --status lost", code: 2, err: /not one of active, expired, revoked/ },
  { line: "keys create ops", code: 2, err: /without --scope/ },
  { line: "keys create ops --scope admin --output $FOLDER/s.json", code: 1, err: /no key was created\n$/ },
  { line: "keys create ops --scope admn", code: 2, err: /did you mean admin\?/ },
  {
    line: "keys add ops --scope admin",
    out: /^psr_\w+\n$/,
    err: /^Created key key_\w+ ops: admin, .*\nwarning: This is the first key/,
    keep: ["KEY", /(psr_\w+)/],
  },
  {
    line: "keys create ci --scope run --agent helper --expires 90d --json --api-key $KEY",
    out: /"scopes":\["run"\],"agent_id":"helper","models":null,"status":"active"/,
    keep: ["ID", /"key_id":"(key_\w+)"/],
  },
  {
    line: "keys list --api-key $KEY",
    out: /^NAME .*\nci .* run .*\nops .* admin /,
    // The column of the last use: empty where no server checks keys.
    varying: /(never|<day>)$/gm,
  },
  {
    line: "keys create ci --scope read --api-key $KEY",
    code: 1,
    err: /the active key key_\w+ has the name "ci"; give it a new secret with purser keys rotate/,
  },
  {
    line: "budgets add --name Mine --limit 1 --per day --key ci --api-key $KEY",
    out: /^Added budget bud_\w+ Mine: \$1 for a day of key ci, /,
  },
  {
    line: "budgets add --name Ours --limit 1 --per day --each key --warn-at 50% --api-key $KEY",
    out: /for a day of each key, /,
  },
  {
    line: "budgets add --name C --limit 1 --per day --key cii --api-key $KEY",
    code: 1,
    err: /no API key has the name or the id "cii"; did you mean "ci"\?/,
  },
  { line: "budgets show Mine --api-key $KEY --json", out: /"key_id":"key_\w+",.*"key_name":"ci"/ },
  { line: "cost --key ci --api-key $KEY", out: /^No such model call has been booked yet\n$/ },
  { line: "cost --by key --key ops --since all --api-key $KEY", out: /./ },
  { line: "cost --key opps --api-key $KEY", code: 1, err: /did you mean "ops"\?/ },
  { line: "budgets refusals --key ci --api-key $KEY", out: /^No refused calls\n$/ },
  { line: "keys rotate cii --api-key $KEY", code: 3, err: /did you mean "ci"\?\n$/ },
  {
    line: "keys rotate ci --grace 1h --json --api-key $KEY",
    out: /"key_id":"key_\w+","name":"ci","scopes":\["run"\].*"previous_valid_until":"/,
  },
  {
    line: "keys rotate ci --api-key $KEY",
    out: /^psr_\w+\n$/,
    err: /The one before is not valid any more\n$/,
  },
  ...KEY_TAG_ROWS,
  { line: "keys revoke ci --api-key $KEY", out: /^Revoked key key_/ },
  { line: "keys rotate ci --api-key $KEY", code: 1, err: /revoked/ },
  { line: "keys show ci --api-key $KEY", out: /^Status +revoked\nScopes +run\n/m },
  { line: "keys show cii --api-key $KEY", code: 3, err: /did you mean "ci"\?\n$/ },
  { line: "keys add ops --scope run --api-key $KEY", code: 1, err: /has the name "ops"/ },
  { line: "keys add fresh --scope run --json --api-key $KEY", out: /"name":"fresh"/ },
  { line: "keys remove fersh --api-key $KEY", code: 3, err: /did you mean "fresh"\?\n$/ },
  { line: "keys remove fresh --api-key $KEY", out: /^Revoked key key_/ },
  { line: "keys revoke $ID --api-key $KEY", out: /^Revoked key key_/ },
  { line: "keys remove $KEY", code: 2, err: /^error: Cannot remove by the key itself/ },
  { line: "keys revoke key_nope --api-key $KEY", code: 3, err: /error: Cannot find API key key_nope/ },
  { line: "keys list --status revoked --api-key $KEY", out: /^NAME .*\nfresh .*\nci .*\n$/ },
];
