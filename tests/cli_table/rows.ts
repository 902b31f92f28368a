/** One command line of the table: its output is compared between all sandboxes, and checked here where it matters. */
export interface Row {
  /**
   * As a shell would read it, without `purser`. `$NAME` stands for a value kept by an earlier row, `$FOLDER` for the
   * sandbox's folder.
   */
  line: string;
  stdin?: string;
  /** The exit code; 0 unless given. */
  code?: number;
  out?: RegExp;
  err?: RegExp;
  /** Keeps the first group of a match in standard output for later rows. */
  keep?: readonly [name: string, pattern: RegExp];
  /** The output depends on the command line alone: the row runs over the file only, locally and remotely. */
  isOffline?: true;
  /** Only a process of its own is kept in the sandbox, by its environment. */
  needsProcess?: true;
  /** Lines that describe the sandbox itself, and so must differ. */
  varying?: RegExp;
}

/** A call made elsewhere. */
const CALL =
  '{"call_id":"row-1","at":"2026-11-01T09:30:00Z","agent_id":"nightly","provider":"demo","model":"echo","input_tokens":100,"output_tokens":10}';

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
  { line: "agnets list", code: 2, err: /did you mean agents\?/, isOffline: true },
  { line: "cost --jsn", code: 2, err: /did you mean --json\?/, isOffline: true },
  { line: "cost --by modle --json", code: 2, err: /"code":"invalid"/, isOffline: true },
  { line: "sessions list --limit 0", code: 2, err: /--limit/, isOffline: true },
  { line: "agents show ../..", code: 2, err: /as an id/, isOffline: true },
  { line: "cost --profile nope", code: 2, err: /^error: Cannot use --profile: /, isOffline: true },
  { line: "completions zsh", out: /^#compdef purser\n/, isOffline: true },
  { line: "completions zhs", code: 2, err: /not one of bash, zsh, fish/, isOffline: true },
  {
    line: "gateway env openai --server https://purser.example.com",
    out:
      /^export OPENAI_BASE_URL=https:\/\/purser\.example\.com\/openai\/v1\nexport OPENAI_API_KEY="\$PURSER_API_KEY"\n$/,
    isOffline: true,
  },
  { line: "gateway env opnai", code: 2, err: /not one of openai, .*did you mean openai\?/, isOffline: true },
  {
    line: "dashboard --server http://127.0.0.1:1 --no-open",
    out: /^http:\/\/127\.0\.0\.1:1\/ui\/\n$/,
    isOffline: true,
  },
  {
    line: "dashboard --server http://127.0.0.1:1 --api-key psr_key",
    code: 1,
    err: /^error: Cannot reach the server at 127\.0\.0\.1:1: /,
    isOffline: true,
  },
  { line: "serve --port 99999", code: 2, err: /^error: Cannot use --port: /, isOffline: true },

  {
    line: "sessions list --db $FOLDER/typo.db",
    code: 3,
    err: /^error: Cannot open database .*typo\.db, named by --db: there is no such file/,
    isOffline: true,
  },
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
  { line: "agents show nope", code: 3, err: /^error: Cannot find agent nope\n$/ },
  { line: "agents show nope --json", code: 3, err: /"code":"not_found"/ },

  // Sessions and costs
  { line: "sessions list", out: /^SESSION .*\nsecond .*\n/ },
  { line: "sessions list --agent helper --limit 1", out: /^SESSION .*\nses_.*\n$/, err: /There are more/ },
  { line: "sessions list --agent nope", out: /^No sessions of agent nope\n$/ },
  { line: "sessions show first", out: /^Messages +6, with/m },
  { line: "sessions show $SESSION --json", out: /"agent_id":"helper"/ },
  { line: "sessions show nope", code: 3, err: /^error: Cannot find session nope\n$/ },
  { line: "cost", out: /^SPENDING \(UTC\)[^]*By agent, the last 30 days\n[^]*By model, / },
  { line: "cost --by session --since 24h", out: /^SESSION / },
  { line: "cost --by model --json", out: /^\[\{"provider":"demo","model":"/ },

  { line: "cost --by agent --since 24h --until 1h", out: /^No calls since / },
  { line: "cost --from 1h", code: 2, err: /unknown option of cost/ },
  {
    line: "cost --by run --sort cost --since all",
    out: /^RUN [^]*\nTotal \$0\.\d+ in \d+ calls of all time\n$/,
  },
  { line: "cost --by agent --split model --agent helper", out: /^AGENT +MODEL [^]*\nhelper +demo:echo / },
  {
    line: "cost --by day --split model --model demo:loop --csv",
    out: /^day,provider,model,[^]*,demo,loop,\d+,/,
  },
  { line: "cost --since 1d --compare previous", out: /^AGENT +COST +BEFORE +DIFFERENCE [^]*\nAll / },
  {
    line: "cost --by day --compare previous",
    code: 1,
    err: /can't be compared, since each has a time of its own; group by agent/,
  },
  { line: "cost --by run --compare previous", code: 1, err: /groups by run can't be compared/ },
  {
    line: "cost --by session --split model",
    code: 1,
    err: /a session can't be split; split agents, models, /,
  },
  { line: "cost --since all --compare previous", code: 2, err: /give --since/ },
  { line: "cost --total --agent helper", out: /^Since [^]*\nModel calls +4\n/m },
  {
    line: "cost --total --until 1h --json",
    out: /^\{"from":"[^"]+","to":"[^"]+","model_calls":0,.*"cost_usd":0\}\n$/,
  },
  { line: "cost --total --by agent", code: 2, err: /--total together with --by/ },
  { line: "cost --forecast", out: /^Spent in \d{4}-\d\d: \$0\.\d+\nNo forecast yet/ },
  { line: "cost --forecast --json", out: /"pace_from":"[^"]+",.*"forecast_usd":null\}/ },
  {
    line: "agents set tagged --model demo:echo --tag team=search --tag customer=none",
    out: /^Created agent tagged/,
  },
  { line: "agents show tagged", out: /^Tags +customer=none, team=search$/m },
  { line: "run tagged hello --tag customer=acme --tag user=zoe", out: /^You said: hello\n$/ },
  { line: "run tagged hello --tag customer", code: 2, err: /customer is not of the form key=value/ },
  { line: "run tagged hello --tag a=b --tag a=c", code: 2, err: /a is given twice/ },
  { line: 'run tagged hello --tag "a b=c"', code: 2, err: /a b: a tag's key must be/ },
  {
    line: "cost --by tag:customer",
    out:
      /^CUSTOMER [^]*\n\(no customer\) [^]*\nacme [^]*\nTotal \$0\.\d+ in \d+ calls of the last 30 days\n$/,
  },
  {
    line: "cost --by model --split tag:customer --tag team=search",
    out: /^MODEL +CUSTOMER [^]*\ndemo:echo +acme /,
  },
  { line: "cost --tag customer=acme", out: /^SPENDING [^]*^All time +\$0\.\d+ +1 /m },
  { line: "cost --tag customer=zoe", out: /^No such model call has been booked yet\n$/ },
  {
    line: "cost --by tag:customer --tag user=zoe --json",
    out: /^\[\{"tag_key":"customer","tag_value":"acme",/,
  },
  { line: "cost --by tag:", code: 2, err: /tag: is not one of agent, .*, tag:KEY/ },
  { line: "agents set tagged --no-tags --json", out: /"tags":\{\}/ },
  { line: "agents set tagged --no-tags --tag a=b", code: 2, err: /--tag together with --no-tags/ },
  { line: "agents remove tagged", out: /tagged/ },
  { line: "cost --csv --json", code: 2, err: /--csv together with --json/ },
  {
    line: "cost --what-if demo:echo",
    out: /^MODEL .*ON demo:echo[^]*\ndemo:loop .*\n[^]*\nAll /,
    err: /another model counts and answers differently/,
  },
  { line: "cost --what-if demo:echo --by agent --json", out: /"what_if_cost_usd":0\.\d+/ },
  { line: "cost --what-if nope", code: 1, err: /write its provider too/ },
  {
    line: "state export helper --session first --with-events --output - --json",
    out: /^\{/,
    keep: ["CALL", /"call_id":"(call_\w+)"/],
  },
  {
    line: "cost explain $CALL",
    out: /^Call +call_\w+\n[^]*As booked\nBy the rates of demo\nPART .*\ninput_tokens .* \$1 \/ 1M /,
  },
  { line: "cost explain $CALL --json", out: /"difference_usd":0\}/ },
  { line: "cost explain call_nope", code: 3, err: /^error: Cannot find call call_nope\n$/ },
  { line: "cost explain ..", code: 2, err: /as the id of a call/ },
  {
    line: "report -",
    stdin: `${CALL}\n{"call_id":1}\n${CALL.replace("row-1", "row-2")}\n`,
    code: 1,
    out: /^Booked 2 calls; 1 bad line was left out\n$/,
    err: /^error: Line 2: call_id: .*; at: /,
  },
  { line: "report -", stdin: `${CALL}\n`, out: /^Booked 0 calls; 1 call was booked before\n$/ },
  { line: "report - --json", stdin: `${CALL}\n`, out: /^\{"lines":1,"booked":0,"duplicates":1,/ },
  { line: "report missing.jsonl", code: 1, err: /missing\.jsonl: no such file/ },
  { line: "reprice", code: 2, err: /without --unpriced, or --since and --until/ },
  { line: "reprice --unpriced", out: /^No calls match\n$/ },
  {
    line: "reprice --since 24h --until 2030-01-01 --agent helper",
    out: /\n0 calls of 4 would change, by \+\$0 in all\n$/,
  },
  {
    line: "reprice --since 24h --until 2030-01-01 --apply --json",
    out: /"status":"applied"/,
    keep: ["REPRICING", /"repricing_id":"(rep_\w+)"/],
  },
  { line: "reprice apply $REPRICING", out: /is applied; purser reprice undo / },
  { line: "reprice apply rep_nope", code: 3, err: /^error: Cannot find repricing rep_nope\n$/ },
  { line: "reprice list", out: /^REPRICING .*\nrep_\w+ +applied / },
  { line: "reprice list --limit 0", code: 2, err: /--limit/ },
  { line: "reprice undo $REPRICING", out: /is undone\n$/ },
  { line: "reprice undo rep_nope --json", code: 3, err: /"code":"not_found"/ },
  { line: "reprice apply $REPRICING", code: 1, err: /it is undone/ },

  // Prices
  { line: "prices show", out: /^SOURCE .*\ngenai-prices .*\nlitellm / },
  {
    line: "prices show gpt-5-mini --at 2026-11-01",
    out: /^Model +openai:gpt-5-mini\n[^]*^RATE \(USD\) +STANDARD +FLEX/m,
  },
  {
    line: "prices show openai:gpt-5-mini --at 2026-11-01 --json",
    out: /"part":"input_tokens","usd":0\.25,"per":1000000/,
  },
  { line: "prices show openai:gpt-5-minni", code: 3, err: /did you mean openai:gpt-5-mini/ },
  { line: "prices show openai:gpt-5-minni --json", code: 3, err: /"nearest":\["openai:gpt-5-mini"/ },
  { line: "prices show --service-tier flex", code: 2, err: /without MODEL/ },
  {
    line: "prices show gpt-5-mini --service-tier flex",
    out: /^RATE \(USD\) +FLEX +PER\ninput tokens +0\.125 /m,
  },
  {
    line: "prices show gpt-5-mini --service-tier other",
    out: /service_tier\n[^]*^RATE \(USD\) +STANDARD +PER$/m,
  },
  { line: "prices show gpt-5-mini --at yesterday", code: 2, err: /yesterday is no date/ },

  // Snapshots
  {
    line: "state export helper --session first --output $FOLDER/s.json --tag ticket=4711",
    out: /^Exported session first/,
  },
  { line: "state export helper --session first --with-events --output - --json", out: /^\{.*"events":\[/ },
  {
    line: "state export helper --session second --output $FOLDER/t.json",
    code: 1,
    err: /it belongs to agent looper/,
  },
  { line: "state export nope --output $FOLDER/t.json", code: 3, err: /nope/ },
  { line: "state show $FOLDER/s.json", out: /^tags +ticket=4711$/m },
  { line: "state show missing.json", code: 1, err: /missing\.json/ },
  { line: "state import $FOLDER/s.json --dry-run", out: /^Nothing was written\n$/m },
  { line: "run helper more --session first", out: /^You said: more\n$/ },
  { line: "state import $FOLDER/s.json --json", code: 1, err: /"messages_before":8,"messages_restored":6\}/ },
  { line: "state import $FOLDER/s.json --yes --dry-run", out: /^It would get shorter: /m },
  { line: "state import $FOLDER/s.json --yes", out: /^Restored session first of helper: 6 messages\n/ },
  { line: "state import $FOLDER/s.json", out: /^Restored session first of helper: 6 messages\n/ },
  { line: "state import - --json", stdin: '{"schema_version":1}', code: 1, err: /"code":"invalid"/ },
  { line: "state replay first --until 3", out: /./ },
  { line: "state replay $FOLDER/s.json --json", out: /^\{/ },
  { line: "state replay nope", code: 3, err: /nope/ },

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
    line: "budgets add --name X --limit 1 --per day --agent a --session b --json",
    code: 1,
    err: /"path":"session_id"/,
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
    err: /counts_from: can't be together with per day/,
  },
  { line: "budgets set nope --limit 1 --json", code: 3, err: /"code":"not_found"/ },
  {
    line: "budgets raise Daily --usd 20 --for 24h --reason release",
    out: /^Raised budget Daily by \$20 until .* \$920 now/,
  },
  { line: "budgets raise Helper --usd 1 --json", out: /"extra_usd":1,"until":null,/ },
  { line: "budgets raise Daily --usd 1 --for 2020-01-01", code: 2, err: /not in the future/ },
  { line: "budgets show Daily", out: /^ *\$20 .* release$/m },
  {
    line: "budgets check --agent helper --session first",
    out: /^BUDGET +LEFT .*\n(cost_budget_usd|Helper) [^]*\nDaily +\$919\.9/,
  },
  {
    line: "budgets add --name Watched --limit 0 --per day --action watch --warn-at none",
    out: /, stop, watch only; /,
  },
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
  { line: "budgets remove Shut", out: /^Removed budget bud_\w+; / },
  { line: "budgets remove Shut", code: 3, err: /^error: Cannot find a budget named "Shut"/ },
  { line: "budgets remove $BUDGET --json", out: /^$/ },
  { line: "budgets remove Helper", out: /^Removed / },
  { line: "budgets remove Watched", out: /^Removed / },

  // Alerts and channels
  { line: "alerts list", out: /^No alert rules yet/ },
  {
    line: "alerts add --name Daily --threshold-usd 1000 --threshold-type per_day_usd --severity warning",
    out: /^Added rule rule_\w+ Daily: /,
    keep: ["RULE", /(rule_\w+)/],
  },
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
  { line: "alerts resend alert_nope --json", code: 3, err: /"code":"not_found"/ },
  { line: "alerts remove $RULE", out: /^Removed rule / },
  { line: "alerts remove $RULE", code: 3, err: /^error: Cannot find/ },
  { line: "channels list", out: /^NAME .*\nlog .*\nhook / },
  { line: "channels test log", out: /^log +log +delivered/m },
  { line: "channels test hook --json", code: 1, out: /"channel":"hook"/ },
  { line: "channels test nope", code: 3, err: /nope/ },

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
  { line: "agents remove helper", out: /^Removed agent helper/ },
  { line: "agents remove helper --json", code: 3, err: /"code":"not_found"/ },

  // Keys come last: once there is one, a server requires authentication.
  { line: "keys list", out: /^No keys yet/ },
  { line: "keys list --status lost", code: 2, err: /not one of active, expired, revoked/ },
  { line: "keys create ops", code: 2, err: /without --scope/ },
  { line: "keys create ops --scope admin --output $FOLDER/s.json", code: 1, err: /no key was created\n$/ },
  { line: "keys create ops --scope admn", code: 2, err: /did you mean admin\?/ },
  {
    line: "keys create ops --scope admin",
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
  { line: "keys revoke $ID --api-key $KEY", out: /^Revoked key key_/ },
  { line: "keys revoke $KEY", code: 2, err: /^error: Cannot revoke by the key itself/ },
  { line: "keys revoke key_nope --api-key $KEY", code: 3, err: /^error: Cannot find API key key_nope/ },
  { line: "keys list --status revoked --api-key $KEY", out: /^NAME .*\nci .*\n$/ },
];
