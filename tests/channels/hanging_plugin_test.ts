import assert from "node:assert/strict";
import { newPlace, purser } from "../harness/cli_process.ts";
import { inProcess } from "../harness/in_process.ts";

/** A module whose plugin hangs in the given functions. */
const hanging = (kind: string, { make = "", open = "", send = "", close = "" }) =>
  `const never = () => new Promise(() => {});
export default async ({ defineChannel, z }) => {
  ${make}
  return defineChannel({ kind: "${kind}", summary: "x", settings: z.object({}), async open() {
    ${open}
    return { async send() { ${send} return { ok: true } }, async close() { ${close} } };
  } });
};`;

/** A machine with a rule that every run fires, and channels that hang, each in its own way, for a second. */
async function hangingPlace(plugins: Record<string, string>) {
  const place = await newPlace();
  const kinds = Object.keys(plugins);
  for (const kind of kinds) await Deno.writeTextFile(`${place.folder}/${kind}.ts`, plugins[kind]!);
  const config = {
    plugins: kinds.map((kind) => `./${kind}.ts`),
    channels: kinds.map((kind) => ({ kind, name: kind, timeout_ms: 1_000 })),
  };
  place.env.PURSER_CONFIG = `${place.folder}/purser.json`;
  await Deno.writeTextFile(place.env.PURSER_CONFIG, JSON.stringify(config));
  await inProcess(place, ["agents", "set", "helper", "--model", "demo:echo"]);
  const rule = ["--threshold-usd", "0.000001", "--threshold-type", "per_run_usd", "--severity", "info"];
  assert.equal((await inProcess(place, ["alerts", "add", "--name", "Any", ...rule])).code, 0);
  const run = await purser(place, ["run", "helper", "hi"]);
  assert.deepEqual([run.code, run.out], [0, "You said: hi\n"], run.err);
  const history = await inProcess(place, ["alerts", "history", "--json"]);
  const deliveries: Record<string, unknown>[] = JSON.parse(history.out)[0].deliveries;
  return {
    place,
    run,
    deliveries: Object.fromEntries(
      deliveries.map(({ channel, status, last_error }) => [channel, [status, last_error]]),
    ),
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

Deno.test("a run ends and its alert reaches other channels though a plugin never opens, sends or closes", async () => {
  await using test = await hangingPlace({
    open: hanging("open", { open: "await never();" }),
    send: hanging("send", { send: "await never();" }),
    close: hanging("close", { close: "await never();" }),
  });
  assert.deepEqual(test.deliveries, {
    log: ["delivered", null],
    open: ["pending", "Cannot open the channel open: it is not ready after 1 s"],
    send: ["pending", "no answer within 1 s"],
    close: ["delivered", null],
  });
  assert.match(test.run.err, /Cannot close the channel close: it takes longer than 1 s/);
});

Deno.test("runs, lists and servers end though the module of a plugin never finishes loading", async () => {
  await using test = await hangingPlace({ make: hanging("make", { make: "await never();" }) });
  const { place, deliveries } = test;
  assert.deepEqual(deliveries, { log: ["delivered", null], make: ["pending", null] });
  const [list, serve] = await Promise.all([
    purser(place, ["channels", "list", "--json"]),
    purser(place, ["serve", "--port", "0"]),
  ]);
  const [, { name, problem }] = JSON.parse(list.out);
  assert.deepEqual([name, problem], ["make", "it is not ready after 1 s"]);
  assert.equal(serve.code, 1, serve.err);
  assert.match(serve.err, /make \(make\): it is not ready after 1 s/);
});
