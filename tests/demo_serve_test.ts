import assert from "node:assert/strict";
import { newPlace, purser, start } from "./harness/cli_process.ts";
import { freePorts } from "./harness/sqld.ts";

/** Reads a stream until it has a text, and then to its end, so that the process never blocks on a full pipe. */
async function readUntil(stream: ReadableStream<Uint8Array<ArrayBuffer>>, text: string): Promise<string> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  while (!seen.includes(text)) {
    const { done, value } = await reader.read();
    assert.ok(!done, seen);
    seen += value;
  }
  void (async () => {
    while (!(await reader.read()).done);
  })();
  return seen;
}

/** The demo's folders that are left in a folder for temporary files. */
const leftIn = (folder: string) =>
  [...Deno.readDirSync(folder)].filter(({ name }) => name.startsWith("purser_demo_")).length;

Deno.test("the demo serves a month of figures on the port of --port until its terminal is closed, which removes it", async () => {
  await using place = await newPlace();
  place.env.TMPDIR = place.folder;
  const { port } = freePorts();
  const child = start(place, ["demo", "--serve", "--port", String(port)]);
  const errors = new Response(child.stderr).text();
  const out = await readUntil(child.stdout, "Ctrl-C ends");
  const [, url, code] = /(http:\/\/127\.0\.0\.1:\d+)\/ui\/#code=(\w+)\n/.exec(out)!;
  const [key] = /^psr_\w+$/m.exec(out)!;
  const get = async (path: string) => {
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
    assert.equal(response.status, 200, path);
    return await response.json();
  };
  assert.equal(url, `http://127.0.0.1:${port}`);
  assert.equal(leftIn(place.folder), 1);

  const total = await get("/costs/total");
  assert.ok(total.cost_usd > 100 && total.unpriced_calls > 10, JSON.stringify(total));
  assert.equal((await get("/costs?group_by=agent")).length, 6);
  assert.ok((await get("/costs?group_by=day&limit=100")).length >= 30);
  const states = (await get("/budgets")).map(({ name, state }: Record<string, string>) =>
    `${name}: ${state}`
  );
  for (const state of ["Everything, month: near", "Prompt lab, pilot: reached", "Coder, week: ok"]) {
    assert.ok(states.includes(state), states.join("; "));
  }
  const alerts = await get("/alerts/history?limit=100");
  assert.deepEqual(
    new Set(
      alerts.flatMap(({ deliveries }: { deliveries: { status: string }[] }) =>
        deliveries.map(({ status }) => status)
      ),
    ),
    new Set(["delivered"]),
  );
  const kinds = (await get("/anomalies")).map(({ kind }: { kind: string }) => kind);
  assert.deepEqual(new Set(kinds), new Set(["costly_call", "repeated_tool_call"]));
  assert.equal((await get("/keys")).length, 5);

  const signedIn = await fetch(`${url}/ui/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  assert.equal((await signedIn.json()).access, "signed_in");

  // A closing terminal sends it, and so does its shell.
  const hangup = Deno.build.os === "windows" ? "SIGINT" : "SIGHUP";
  child.kill(hangup);
  child.kill(hangup);
  const { code: exitCode, signal } = await child.status;
  assert.deepEqual([exitCode, signal, await errors, leftIn(place.folder)], [0, null, "", 0]);
});

Deno.test("the demo refuses a port that is in use before it makes up its month, and wrong values of --port", async () => {
  await using place = await newPlace();
  place.env.TMPDIR = place.folder;
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  const taken = await purser(place, ["demo", "--serve", "--port", String(port)]);
  assert.equal(taken.code, 1, taken.err);
  assert.match(
    taken.err,
    /^error: Cannot listen on 127\.0\.0\.1:\d+: the port is in use; choose another with --port/,
  );
  assert.equal(leftIn(place.folder), 0);
  for (
    const [args, reason] of [
      [["--port", "8421"], /Cannot use --port without --serve/],
      [["--serve", "--port", "65536"], /--port/],
      [["--serve", "--port", "web"], /--port/],
    ] as const
  ) {
    const { code, err } = await purser(place, ["demo", ...args]);
    assert.deepEqual([code, reason.test(err)], [2, true], err);
  }
});

Deno.test("Ctrl-C ends the demo while it makes up its month, and removes it and what killed ones have left, a day later", async () => {
  await using place = await newPlace();
  place.env.TMPDIR = place.folder;
  const folders = ["purser_demo_serve_old", "purser_demo_serve_new", "purser_demo_old", "purser_serve_old"];
  for (const name of folders) {
    await Deno.mkdir(`${place.folder}/${name}`);
    await Deno.writeTextFile(`${place.folder}/${name}/purser.db`, "");
    const at = new Date(Date.now() - 25 * 3_600_000);
    for (const file of ["/purser.db", ""]) {
      if (!name.endsWith("new") || file === "") await Deno.utime(`${place.folder}/${name}${file}`, at, at);
    }
  }
  const child = start(place, ["demo", "--serve"]);
  const errors = new Response(child.stderr).text();
  await readUntil(child.stdout, "few seconds");
  child.kill("SIGINT");
  assert.deepEqual([(await child.status).code, await errors], [130, ""]);
  const left = [...Deno.readDirSync(place.folder)].map(({ name }) => name).filter((name) =>
    /^purser_\w*_/.test(name)
  );
  assert.deepEqual(left.toSorted(), folders.slice(1).toSorted(), "and nothing else");
});

Deno.test("a demo without a folder for temporary files says so", async () => {
  await using place = await newPlace();
  place.env.TMPDIR = `${place.folder}/none`;
  const { code, err } = await purser(place, ["demo", "--serve"]);
  assert.equal(code, 1);
  assert.match(err, /^error: Cannot make a temporary folder for the demo: .*; set TMPDIR to a folder/);
});
