import type { Row } from "./row.ts";

/** A call made elsewhere. */
const CALL =
  '{"call_id":"row-1","at":"2026-11-01T09:30:00Z","agent_id":"nightly","provider":"demo","model":"echo","input_tokens":100,"output_tokens":10}';

/** The rows on sessions and costs, prices and snapshots; they see the agents and runs of those before. */
/** A call made elsewhere at a price of its own, which the list price of demo:echo isn't. */
const COSTLY = CALL.replace("row-1", "row-3").replace("}", ',"cost_usd":1}');

export const COST_ROWS: readonly Row[] = [
  // Sessions and costs
  { line: "sessions list", out: /^SESSION .*\nsecond .*\n/ },
  { line: "sessions list --agent helper --limit 1", out: /^SESSION .*\nses_.*\n$/, err: /There are more/ },
  {
    line: "sessions list --search ECHO --agent helper --status completed",
    out: /^SESSION .*\nses_.*\nfirst .*\n$/,
  },
  { line: "sessions list --search demo:nope", out: /^No session matches\n$/ },
  {
    line: "sessions list --search second --json",
    out: /^\[\{"session_id":"second",[^{]*\{[^{]*\{\}[^{]*\}\]\n$/,
  },
  { line: "sessions list --status dead", code: 2, err: /--status: dead is not one of/ },
  {
    line: "sessions list --agent hlper",
    code: 3,
    err: /^error: Cannot find agent hlper: .*; did you mean helper\?/,
  },
  {
    line: "sessions show first",
    out:
      /^Messages +6, with[^]*^STEP +TIME \(UTC\) +AGENT +MODEL +.*CACHED +OUTPUT +COST +CALL\n +1 +\d\d:\d\d:\d\d +helper +demo:echo +calculator .* call_\w+\n/m,
  },
  { line: "sessions show $SESSION --json", out: /"agent_id":"helper"/ },
  { line: "sessions show nope", code: 3, err: /^error: Cannot find session nope\n$/ },
  { line: "cost", out: /^SPENDING \(UTC\)[^]*By agent, the last 30 days\n[^]*By model, / },
  { line: "cost --by session --since 24h", out: /^SESSION / },
  { line: "cost --by model --json", out: /^\[\{"provider":"demo","model":"/ },

  {
    line: "import claude-code --path $FOLDER/nowhere",
    code: 3,
    err: /^error: Cannot import from .*nowhere: no such file or directory/,
    isOffline: true,
  },
  {
    line: "import litellm --url http://127.0.0.1:9",
    code: 1,
    err:
      /^error: Cannot read the calls of LiteLLM: LITELLM_PROXY_API_KEY is not set; it needs the proxy's master key/,
  },
  {
    line: "import codex --url http://127.0.0.1:9",
    code: 2,
    err: /name litellm or langfuse/,
    isOffline: true,
  },
  { line: "plans --limit 0", code: 2, err: /--limit/ },
  { line: "plans", out: /^No plan has been measured yet/ },
  {
    line: "bills import openay",
    code: 2,
    err: /there is no source openay; did you mean openai\?/,
    isOffline: true,
  },
  { line: "bills import anthropic --month 2026-10", code: 1, err: /ANTHROPIC_ADMIN_KEY is not set/ },
  {
    line: "bills import csv --file $FOLDER/bill.csv --account mistral",
    out: /^Imported 2 lines of csv: 2 new, 0 replaced\nBilled: 1\.75 USD\n$/,
  },
  {
    line: "bills list",
    out: /^WHEN \(UTC\) +SOURCE +ACCOUNT [^]* csv +mistral +2026-11-25 +2026-11-27 +done +2 /,
  },
  { line: "bills list --limit 0", code: 2, err: /--limit/, isOffline: true },
  { line: "bills lines --month 2026-11", out: /mistral-large [^]*Billed: 1\.75 USD\n$/ },
  { line: "bills lines --month 2026-00", code: 2, err: /2026-00 is not a month/, isOffline: true },
  { line: "bills sources", out: /^SOURCE +OF +KEY [^]*\nopenai +OpenAI +OPENAI_ADMIN_KEY /, isOffline: true },
  { line: "bills sources --jsn", code: 2, err: /did you mean --json/, isOffline: true },
  { line: "reconcile antropic", code: 1, err: /there is no source antropic; did you mean anthropic\?/ },
  {
    line: "reconcile csv --month 2026-11",
    out:
      /^csv, 2026-11: open, [^]*\nBill +\$1\.75 +2 lines\n[^]*\nbypass +\+\$1\.75 [^]*\nUnexplained: \$0\n/,
    keep: ["RECONCILED", /\n(rec_\w+); /],
  },
  { line: "reconcile list", out: /^ID +SOURCE +[^]*\nrec_\w+ +csv +2026-11 +open +\$1\.75 / },
  { line: "reconcile list --limit 0", code: 2, err: /--limit/, isOffline: true },
  { line: "reconcile show $RECONCILED", out: /^csv, 2026-11: open, / },
  { line: "reconcile show rec_none", code: 3, err: /Cannot find reconciliation rec_none/ },
  { line: "reconcile undo $RECONCILED", out: /^0 corrections taken back\n$/ },
  { line: "reconcile undo rec_none", code: 3, err: /Cannot find reconciliation rec_none/ },
  { line: "reconcile close csv --month 2026-10", code: 1, err: /it was not compared; purser reconcile csv / },
  { line: "reconcile csv --month 2026-10 --limit 1", out: /^csv, 2026-10: open, / },
  { line: "reconcile close csv --month 2026-10", out: /^2026-10 of csv is (soft )?closed/ },
  { line: "reconcile months", out: /^SOURCE +MONTH +STATE +[^]*\ncsv +2026-10 +(soft )?closed / },
  { line: "reconcile months --sorce csv", code: 2, err: /did you mean --source/, isOffline: true },
  { line: "reconcile reopen csv --month 2026-10", code: 2, err: /without --reason/, isOffline: true },
  { line: "reconcile reopen csv --month 2026-10 --reason late", out: /^2026-10 of csv is reopened\n$/ },
  { line: "sources", out: /^SOURCE +CALLS +COST +[^]*\nrun +\d+ +\$0\./ },

  { line: "cost --by agent --since 24h --until 1h", out: /^No calls since / },
  { line: "cost --by agent --since yesterday --until today", out: /^No calls since / },
  {
    line: "cost --by agent --since month --session first",
    out: /^AGENT [^]*\nhelper [^]*\nTotal \$0\.\d+ in 3 calls /,
  },
  {
    line: "cost --since last-year",
    code: 2,
    err: /last-year is not a time; write 24h, .*yesterday, monday, week, month/,
  },
  { line: "cost --session frist", code: 3, err: /^error: Cannot find session frist\n$/ },
  { line: "cost --agent hepler", code: 3, err: /Cannot find agent hepler: .*; did you mean helper\?/ },
  { line: "cost --key nope", code: 1, err: /Cannot use --key: no API key has the name or the id "nope"/ },
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
  { line: "cost --forecast", out: /^Spent in \d{4}-\d\d \(UTC\): \$0\.\d+\nNo forecast yet/ },
  { line: "cost --forecast --json", out: /"pace_from":"[^"]+",.*"forecast_usd":null,.*"high_usd":null\}/ },
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
  { line: "reprice", code: 2, err: /without --unpriced or --since; / },
  { line: "reprice --unpriced", out: /^No calls match\n$/ },
  {
    line: "reprice --since 24h --until 2030-01-01 --agent helper",
    out: /\n0 calls of 4 would change, by \+\$0 in all\n$/,
  },
  {
    line: "reprice --since all --model demo:echo --apply",
    out: /\n0 calls of \d+ would change, by \+\$0 in all\n$/,
    err: /^Nothing was booked: no cost would change\n$/,
  },
  { line: "reprice --since all --model demo:echo --apply --json", out: /^\{"repricing_id":null,/ },
  { line: "reprice list", out: /^No repricings yet/ },
  { line: "report -", stdin: `${COSTLY}\n`, out: /^Booked 1 call\n$/ },
  {
    line: "reprice --since all --model demo:echo --include-reported --apply --json",
    out: /"status":"applied",.*"changed_calls":1,/,
    keep: ["REPRICING", /"repricing_id":"(rep_\w+)"/],
  },
  { line: "reprice apply $REPRICING", out: /is applied; purser reprice undo / },
  { line: "reprice apply rep_nope", code: 3, err: /^error: Cannot find repricing rep_nope\n$/ },
  { line: "reprice list", out: /^REPRICING .*\nrep_\w+ +applied / },
  { line: "reprice list --limit 0", code: 2, err: /--limit/ },
  { line: "reprice undo $REPRICING", out: /^MODEL [^]*\ndemo:echo [^]*is undone[^\n]*\n$/ },
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
  { line: "prices list", out: /^No prices were set\n$/ },
  { line: "prices list --limit 1", code: 2, err: /unknown option --limit|--limit/ },
  { line: "prices set own:model --input 1 --output 2", out: /^Price of own:model: input 1, output 2\n$/ },
  { line: "prices set own:model --input 1", code: 2, err: /without --output/ },
  { line: "prices list --json", out: /"name":"own:model"/ },
  { line: "prices discount own --by 12%", out: /^contract own:\*: -12% of listed rates\n$/ },
  { line: "prices discount own", code: 2, err: /without --by/ },
  { line: "prices premium own:a-* --by 1% --region eu", out: /^contract own:a-\* in eu: \+1% of listed/ },
  { line: "prices premium own --by 12", code: 2, err: /is not a share/ },
  { line: "prices unset own:model", out: /^Removed the price of own:model\n$/ },
  { line: "prices unset own:model", code: 3, err: /Cannot find a price that was set for own:model/ },
  // What calls are paid with
  {
    line: "report -",
    stdin: CALL.replace("row-1", "row-4").replace("}", ',"account":"acme"}'),
    out: /^Booked 1 call/,
  },
  { line: "upstreams list", out: /^UPSTREAM [^]*\nups_\w+ +demo +unknown .*acme/ },
  { line: "upstreams list --json", out: /"account":"acme"/, keep: ["UPSTREAM", /"upstream_id":"(ups_\w+)"/] },
  { line: "upstreams list --limit 1", code: 2, err: /--limit/ },
  { line: "upstreams set $UPSTREAM --key-id key_1", out: /^ups_\w+ is key_1 on the bills of demo\n$/ },
  { line: "upstreams set ups_0000000000000", code: 2, err: /without --key-id/ },
  {
    line: "upstreams set ups_0000000000000 --key-id key_1",
    code: 3,
    err: /Cannot find upstream ups_0+; see purser/,
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
  { line: "prices show gpt-5-mini --at yesterday", code: 2, err: /yesterday is neither a date/ },

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
];
