/**
 * Reports what a job has cost: as its summary, as outputs, and as one comment on the pull request, which the next run replaces.
 * For Node 18 and newer, without packages. A comment that can't be written is a warning: the job has done its work.
 */
import { appendFile, readFile } from "node:fs/promises";
import process from "node:process";

const { env } = process;
const cost = await readFile(env.FILE, "utf8").then(JSON.parse, () => undefined);
if (cost === undefined) {
  console.log("::warning::Purser has written no cost: the command was not run");
  process.exit(0);
}
const { total, by_model, name } = cost;
const text = render();
if (env.GITHUB_STEP_SUMMARY) await appendFile(env.GITHUB_STEP_SUMMARY, `${text}\n`);
await appendFile(env.GITHUB_OUTPUT, `cost-usd=${total.cost_usd ?? ""}\ncalls=${total.model_calls}\n`);
if (env.COMMENT === "true") {
  await comment().catch((error) =>
    console.log(`::warning::Cannot comment on the pull request: ${oneLine(error.message)}`)
  );
}

/** Renders the cost as Markdown. */
function render() {
  const calls = (count) => `${count.toLocaleString("en-US")} call${count === 1 ? "" : "s"}`;
  const usd = (amount) => (amount === null ? "no known price" : `$${amount}`);
  const notes = [
    total.plan_usd ? `${usd(total.plan_usd)} more is the value by the API of what a plan pays` : "",
    total.unpriced_calls > 0 ? `${calls(total.unpriced_calls)} without a known price` : "",
    cost.budget_reached ? "the budget was reached" : "",
  ].filter(Boolean);
  const head = `**${escape(name)}** cost **${usd(total.cost_usd)}** in ${calls(total.model_calls)}` +
    (cost.budget_usd === null ? "" : ` of a budget of ${usd(cost.budget_usd)}`) +
    notes.map((note) => `; ${note}`).join("");
  if (by_model.length === 0) return head;
  const rows = by_model.map(({ provider, model, model_calls, total_tokens, cost_usd }) =>
    `| ${escape(`${provider}:${model}`)} | ${model_calls} | ${total_tokens.toLocaleString("en-US")} | ${
      usd(cost_usd)
    } |`
  );
  return [head, "", "| model | calls | tokens | cost |", "| --- | ---: | ---: | ---: |", ...rows].join("\n");
}

/** Escapes a name: it is no markup, no link and no mention. */
function escape(text) {
  return text.replaceAll(/[^\w .:/-]/gu, (character) => `&#${character.codePointAt(0)};`);
}

function oneLine(text) {
  return String(text).replaceAll("%", "%25").replaceAll(/[\r\n]+/g, " ");
}

/** Writes the comment on the pull request of the event, in place of an earlier one of the same name. */
async function comment() {
  const event = await readFile(env.GITHUB_EVENT_PATH, "utf8").then(JSON.parse, () => ({}));
  const number = event.pull_request?.number;
  if (number === undefined) return;
  const comments = `/repos/${env.GITHUB_REPOSITORY}/issues/${number}/comments`;
  const mark = `<!-- purser ${escape(name)} -->`;
  const body = `${text}\n\n${mark}`;
  for (let page = 1; page <= 30; page++) {
    const found = await request("GET", `${comments}?per_page=100&page=${page}`);
    const own = found.find((one) => one.body?.endsWith(mark) && one.user?.type === "Bot");
    if (own) {
      return await request("PATCH", `/repos/${env.GITHUB_REPOSITORY}/issues/comments/${own.id}`, { body });
    }
    if (found.length < 100) break;
  }
  await request("POST", comments, { body });
}

async function request(method, path, body) {
  const response = await fetch((env.GITHUB_API_URL ?? "https://api.github.com") + path, {
    method,
    headers: {
      authorization: `Bearer ${env.TOKEN}`,
      accept: "application/vnd.github+json",
      "x-github-api-version": "2022-11-28",
      ...(body && { "content-type": "application/json" }),
    },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}`);
  return await response.json();
}
