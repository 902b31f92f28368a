import assert from "node:assert/strict";
import { systemClock } from "../src/kernel/clock.ts";
import { answerTo } from "./harness/answers.ts";
import { blocks, readDocument, runLines } from "./harness/documents.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { openHttpClient } from "./harness/http_client.ts";
import { until } from "./harness/deliveries.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { startWebhookReceiver } from "./harness/webhook_receiver.ts";

/** The team of docs/teams.md, from its commands to what Slack, the lead and each person see. */

/** Returns the lines of the commands below a heading, with their files in a folder. */
async function linesOf(heading: string, directory: string): Promise<string[]> {
  const code = blocks(await readDocument("docs/teams.md"), "sh", heading).join("");
  return code.trim().split("\n").map((line) => line.replaceAll(/\b\w+\.key\b/g, `${directory}/$&`));
}

Deno.test("the team of docs/teams.md is set up, warned, refused, raised and reported by its commands, by name", () =>
  inDirectory(async (directory) => {
    const run = async (heading: string) => await runLines(await linesOf(heading, directory), directory);
    assert.match(await run("Keys"), /dan .*team=data, user=dan/);
    const limits = await run("Limits");
    assert.match(limits, /People +\$200 .*month of tag user=anna/);
    await run("What each person does");

    await using fake = await startFakeProvider((request) =>
      answerTo(request, {
        text: "Hello",
        usage: { inputTokens: 1, outputTokens: Number(request.body.messages[0].content) },
      })
    );
    await using slack = startWebhookReceiver();
    await using purser = await openTestPurser({
      fake,
      clock: systemClock,
      sqlite: undefined,
      config: {
        dbUrl: `file:${directory}/purser/purser.db`,
        channels: [{ kind: "slack", name: "slack", settings: { url: slack.url }, minSeverity: "warning" }]
          .map((channel) => ({ ...channel, timeoutMs: 5_000 })) as never,
        allowPrivateNetworks: ["127.0.0.0/8"],
      },
    });
    const client = openHttpClient(purser);
    const keyOf = async (name: string) => (await Deno.readTextFile(`${directory}/${name}.key`)).trim();
    /** A call of a person's program, whose answer has that many tokens of $0.60 a million. */
    const call = async (name: string, tokens: number, model = "gpt-4o-mini") => {
      const answer = await client.raw("POST", "/v1/chat/completions", {
        key: await keyOf(name),
        headers: { "x-purser-session": `talk of ${name}`.replaceAll(" ", "_") },
        body: { model, messages: [{ role: "user", content: String(tokens) }] },
      });
      return [answer.status, await answer.text()] as const;
    };
    const spend = async (name: string, tokens: number) => assert.equal((await call(name, tokens))[0], 200);
    await spend("dan", 1_000);
    await spend("bob", 20_000_000);
    await spend("anna", 50_000_000);
    await spend("anna", 20_000_000);
    const [status, refusal] = await call("bob", 1);
    assert.equal(status, 402);
    assert.match(refusal, /the budget “Team” \(\$50 per UTC day, all agents\) has \$54\.0006/);
    const { body: budgets } = await purser.api("GET", "/budgets");
    const team = budgets.find(({ name }: { name: string }) => name === "Team").budget_id;
    await purser.api("PATCH", `/budgets/${team}`, { limit_usd: 5_000 });
    await spend("anna", 200_000_000);
    await spend("anna", 100_000_000);
    assert.match((await call("anna", 1))[1], /the budget “People” \(\$200 per UTC month, tag user=anna\)/);
    assert.equal((await call("anna", 1, "gpt-4o-minni"))[0], 402);

    await slack.untilReceived(4);
    const titles = slack.received.map(({ body }) =>
      JSON.parse(body).text.replace(/\$\d[\d.]* spent/, "$… spent")
    );
    assert.deepEqual(titles.toSorted(), [
      "Critical: Budget People, tag user=anna: $… spent this month (UTC), 100% of $200 reached",
      "Critical: Budget Team: $… spent today (UTC), 100% of $50 reached",
      "Warning: Budget People, tag user=anna: $… spent this month (UTC), 80% of $200 reached",
      "Warning: Budget Team: $… spent today (UTC), 80% of $50 reached",
    ]);
    assert.match(
      await run("When somebody needs more"),
      /^Raised tag user=anna of budget People by \$50 until /,
    );
    await until(async () => (await call("anna", 1))[0] === 200);

    const week = await run("Once a week");
    assert.match(week, /^USER .*\nanna .*\nbob .*\ndan /);
    assert.match(week, /Counter +tag user=anna, with the most spending\n/);
    assert.match(week, /\nanna .* near\ndan .* ok\n/);
    assert.match(week, / Team +spent .* bob +bob +openai:gpt-4o-mini +talk_of_bob\n/);
    assert.match(week, / budget People .* tag user=anna key anna /);
    assert.match(week, / raised +budget +People .*reason "Migration"/);
    const { body: own } = await client.send("GET", "/me", { key: await keyOf("anna") });
    assert.deepEqual(
      own.budgets.map(({ name, scope, extra_usd }: Record<string, unknown>) => [name, scope, extra_usd]),
      [["People", "tag user=anna", 50], ["Team", "all", 0]],
    );
    assert.doesNotMatch(JSON.stringify(own), /bob|dan|carla/);
  }));
