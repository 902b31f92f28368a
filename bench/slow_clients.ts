/**
 * Attacks a server with clients that hold connections: `deno task slow_clients [--seconds N] [--connections N]`. Prints the
 * number that the server closed, the times of normal requests and the memory before and with them; then takes all
 * descriptors of a second server, and prints the time after their end until it answers. Ends with an error if one of these
 * is over its bound; in less than two minutes, only the requests and that time have one. A process of its own (the same file
 * with `--hold PORT`) holds the slow connections, so that their work doesn't delay the clock of the normal requests.
 */
import { parseArgs } from "node:util";
import { SNAPSHOT_SCHEMA_PATH } from "../src/contract/snapshot/json_schema.ts";
import { checkBound } from "./check_bound.ts";
import { startServer } from "./start_server.ts";
import { readVersions } from "./versions.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "150" },
    connections: { type: "string", default: "1000" },
    hold: { type: "string" },
  },
});
const seconds = Number(values.seconds);
const count = Number(values.connections);
const [version] = readVersions([]);

/** The shortest run in which the server must have closed some connections of every kind. */
const WHOLE_SECONDS = 120;
/** The factor of the times of normal requests, and the time within which it is noise of the machine. */
const BOUND_P99 = { factor: 2, ms: 25 };
const BOUND_MEGABYTES = 100;
/** Of the connections of the normal requests, whose number varies. */
const BOUND_DESCRIPTORS = 10;
const BOUND_RECOVERY_SECONDS = 5;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const encode = (text: string) => new TextEncoder().encode(text.replaceAll("\n", "\r\n"));
const portOf = (url: string) => Number(new URL(url).port);

/** The first bytes of each kind of slow client; after them it sends one every five seconds, and reads nothing. */
const KINDS: Record<string, string> = {
  silent: "",
  headers: "GET / HTTP/1.1\nX: ",
  body:
    "POST /costs/events HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: 100000\n\n[",
  chunks: "POST /costs/events HTTP/1.1\nHost: localhost\nContent-Type: application/json\n" +
    'Transfer-Encoding: chunked\n\n1\n"\n',
  unread: `GET ${SNAPSHOT_SCHEMA_PATH} HTTP/1.1\nHost: localhost\n\n`.repeat(30),
};

/** Keeps one slow connection open until the end, again and again; returns how often the server closed it. */
async function holdConnection(port: number, kind: string, endsAt: number): Promise<number> {
  let closed = 0;
  for (;;) {
    try {
      using connection = await Deno.connect({ hostname: "127.0.0.1", port });
      await connection.write(encode(KINDS[kind]!));
      const ended = kind === "silent" ? connection.read(new Uint8Array(1)) : new Promise<never>(() => {});
      for (;;) {
        const left = endsAt - Date.now();
        if (left <= 0) return closed;
        const answer = await Promise.race([ended, pause(Math.min(left, 5_000)).then(() => 0)]);
        if (answer === null) break;
        if (kind !== "silent") await connection.write(encode(kind === "chunks" ? "1\nx\n" : "x"));
      }
    } catch {
      // The server has closed it.
    }
    closed++;
    await pause(100);
  }
}

const countZeros = (numbers: readonly number[]) => numbers.filter((number) => number === 0).length;

/** Holds all slow connections; prints how often the server closed those of each kind. */
async function holdConnections(port: number): Promise<void> {
  const endsAt = Date.now() + seconds * 1_000;
  // Few that don't read: what makes up their responses takes more of the processor than of the connections.
  const kinds = [...["silent", "headers", "body", "chunks"].flatMap((kind) => Array(5).fill(kind)), "unread"];
  const closed = await Promise.all(Array.from({ length: count }, async (_, index) => {
    await pause(index * 5_000 / count);
    return await holdConnection(port, kinds[index % kinds.length]!, endsAt);
  }));
  const byKind = Object.keys(KINDS).map((kind) => {
    const ofKind = closed.filter((_, number) => kinds[number % kinds.length] === kind);
    if (seconds >= WHOLE_SECONDS) checkBound(`${kind} clients that were left open`, countZeros(ofKind), 0);
    return `${kind} ${ofKind.reduce((sum, times) => sum + times, 0)}`;
  });
  console.log(`connections that the server closed: ${byKind.join(", ")}`);
}

/** Sends 20 normal requests a second; returns their times in milliseconds. */
async function measure(url: string, ms: number): Promise<{ p50: number; p99: number; failed: number }> {
  const times: number[] = [];
  let failed = 0;
  const reasons = new Set<string>();
  const pending: Promise<void>[] = [];
  for (const end = performance.now() + ms; performance.now() < end; await pause(50)) {
    const path = pending.length % 2 === 0 ? "/agents" : "/costs";
    const startedAt = performance.now();
    pending.push(
      fetch(url + path).then(async (response) => {
        await response.body!.cancel();
        if (!response.ok) failed++;
        times.push(performance.now() - startedAt);
      }, (error) => {
        failed++;
        reasons.add(String(error.cause ?? error));
      }),
    );
  }
  await Promise.all(pending);
  if (reasons.size > 0) console.log([...reasons].join("; "));
  times.sort((a, b) => a - b);
  const at = (part: number) => times[Math.floor(times.length * part)] ?? NaN;
  return { p50: at(0.5), p99: at(0.99), failed };
}

const megabytesOf = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))![1]) / 1024;
const descriptorsOf = (pid: number) => [...Deno.readDirSync(`/proc/${pid}/fd`)].length;

/** Sends normal requests; prints their times, and the memory and the descriptors of the server. */
async function measureServer(name: string, { url, pid }: { url: string; pid: number }, ms: number) {
  const { p50, p99, failed } = await measure(url, ms);
  const [megabytes, descriptors] = [megabytesOf(pid), descriptorsOf(pid)];
  console.log(
    `${name}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${failed} failed, ` +
      `${megabytes.toFixed(0)} MB, ${descriptors} descriptors`,
  );
  checkBound(`the number of failed requests ${name}`, failed, 0);
  return { p99, megabytes, descriptors };
}

if (values.hold !== undefined) {
  await holdConnections(Number(values.hold));
  Deno.exit();
}
const folder = await Deno.makeTempDir({ prefix: "purser-slow-" });
{
  await using server = await startServer(version!, `${folder}/books.db`);
  const { url } = server;
  await measure(url, 2_000);
  const baseMs = Math.min(60_000, seconds * 500);
  const before = await measureServer("without slow clients", server, baseMs);
  const holder = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      import.meta.filename!,
      `--hold=${portOf(url)}`,
      `--seconds=${seconds}`,
      `--connections=${count}`,
    ],
  }).spawn();
  const during = await measureServer(
    `with ${count} slow clients for ${seconds} s`,
    server,
    seconds * 1_000,
  );
  if (!(await holder.status).success) Deno.exitCode = 1;
  const after = await measureServer("after them", server, baseMs);
  if (seconds >= WHOLE_SECONDS) {
    const { factor, ms } = BOUND_P99;
    checkBound("p99 with slow clients, in ms,", during.p99, Math.max(factor * before.p99, ms));
    for (const { megabytes } of [during, after]) {
      checkBound("memory, in MB,", megabytes, before.megabytes + BOUND_MEGABYTES);
    }
    checkBound(
      "the number of descriptors after them",
      after.descriptors,
      before.descriptors + BOUND_DESCRIPTORS,
    );
  }
}
{
  const config = `${folder}/config.json`;
  const limits = { connections: 100_000, connections_per_address: 100_000 };
  await Deno.writeTextFile(config, JSON.stringify({ limits }));
  await using server = await startServer(version!, `${folder}/more.db`, { config, descriptors: 256 });
  const held: Deno.TcpConn[] = [];
  for (let opened = 0; opened < 600; opened++) {
    held.push(await Deno.connect({ hostname: "127.0.0.1", port: portOf(server.url) }));
  }
  await pause(Math.min(10_000, seconds * 100));
  console.log(`all descriptors taken: ${descriptorsOf(server.pid)} of 256`);
  for (const connection of held) connection.close();
  const freedAt = performance.now();
  for (;;) {
    const answer = await fetch(`${server.url}/healthz`, { signal: AbortSignal.timeout(500) }).catch(() => {});
    await answer?.body?.cancel();
    if (answer?.ok) break;
  }
  const recoverySeconds = (performance.now() - freedAt) / 1_000;
  console.log(`answers ${recoverySeconds.toFixed(2)} s after their end`);
  checkBound("the time until it answers, in s,", recoverySeconds, BOUND_RECOVERY_SECONDS);
}
await Deno.remove(folder, { recursive: true });
