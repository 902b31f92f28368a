import assert from "node:assert/strict";
import { seededRandom } from "../harness/random.ts";
import { TextLineStream } from "../harness/text_lines.ts";
import { bundleWorker } from "../harness/shared_build.ts";

/** The two lines of a worker's output between which it is killed. */
const SPANS = {
  opening: ["opening", "opened"],
  importing: ["begin", "end"],
  writing: ["read", "end"],
  sweeping: ["restored", "end"],
} as const;
/** A phase in which a worker is killed. */
export type Aim = keyof typeof SPANS;
const WORKER = await bundleWorker("snapshot_crash");
const TIMEOUT_MS = 30_000;
const GUESSED_MS = 20;

/** A line of a worker. */
export interface Line {
  opening?: true;
  opened?: true;
  begin?: number;
  /** The whole document is read; now it is staged. */
  read?: number;
  /** It is the session's state; the replaced rows are still to be swept. */
  restored?: number;
  end?: number;
  call?: string;
  ran?: { run: string; status: string; message?: string };
}

/** A folder with a database. */
export interface Place extends AsyncDisposable {
  db: string;
}

/** Creates a folder for a database. */
export async function newPlace(): Promise<Place> {
  const folder = await Deno.makeTempDir({ prefix: "purser_snapshot_crash_" });
  return { db: `${folder}/crash.db`, [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }) };
}

/**
 * Kills one worker after another, each at a random moment of the kill's aim: of its first or second import, or while
 * it opens the database. `look` receives the worker's output. The next worker loads its modules meanwhile.
 */
export async function killWorkers(
  { db }: Place,
  { aimOf, mode = "restore" }: { aimOf: (kill: number) => Aim | undefined; mode?: string },
  look: (killed: { said: Line[]; willOpenNext: boolean }) => Promise<void>,
): Promise<void> {
  const random = seededRandom(2026);
  const spawn = () =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "-RWENS", "--quiet", ...WORKER, db, mode],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
  // The time it takes here; the first import of a process is slower than its second.
  const typicalMs = new Map<string, number>();
  let first = 1;
  let next = spawn();
  try {
    let aim = aimOf(0);
    for (let kill = 0; aim; kill++) {
      const worker = next;
      next = spawn();
      const turn = aim === "opening" ? 1 : 1 + Math.floor(random() * 2);
      const share = 1.1 * random();
      let isHit = false;
      const hit = () => {
        isHit = true;
        worker.kill("SIGKILL");
      };
      let timer = setTimeout(() => worker.kill("SIGKILL"), TIMEOUT_MS);
      const orders = worker.stdin.getWriter();
      await orders.write(new TextEncoder().encode(`${first}\n`));
      const said: Line[] = [];
      const startedAt = new Map<string, number>();
      const lines = worker.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
      for await (const text of lines) {
        const line = JSON.parse(text) as Line;
        said.push(line);
        if (line.begin) first = line.begin + 1;
        for (const [name, [from, to]] of Object.entries(SPANS)) {
          const key = `${name} ${said.filter((other) => other[from]).length}`;
          if (line[from]) startedAt.set(key, performance.now());
          if (line[to]) {
            const tookMs = performance.now() - startedAt.get(key)!;
            typicalMs.set(key, (typicalMs.get(key) ?? tookMs) * 0.7 + tookMs * 0.3);
          }
          if (line[from] && key === `${aim} ${turn}`) {
            clearTimeout(timer);
            timer = setTimeout(hit, share * (typicalMs.get(key) ?? GUESSED_MS));
          }
        }
      }
      clearTimeout(timer);
      await orders.abort().catch(() => {});
      await worker.status;
      assert.ok(isHit, `worker ${kill} is killed where planned: ${JSON.stringify(said.at(-1))}`);
      const nextAim = aimOf(kill + 1);
      await look({ said, willOpenNext: nextAim === "opening" });
      aim = nextAim;
    }
  } finally {
    next.kill("SIGKILL");
    await next.status;
    await next.stdin.abort().catch(() => {});
    await next.stdout.cancel();
  }
}
