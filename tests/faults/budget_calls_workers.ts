import { bundleWorker } from "../harness/shared_build.ts";
import { TextLineStream } from "../harness/text_lines.ts";
import type { CallsDone, CallsOrder } from "./budget_calls_worker.ts";

const WORKER = await bundleWorker("budget_calls");

/** A process that makes calls as it is ordered. */
export interface Worker extends AsyncDisposable {
  instanceId: string;
  /** Carries out an order; undefined if it was killed before it was done. */
  order(order: CallsOrder): Promise<CallsDone | undefined>;
  /** Kills it (SIGKILL) once it has booked so many more calls. */
  killAfter(calls: number): void;
}

/** Starts a process on a database. */
export async function startWorker(db: string): Promise<Worker> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-RWENS", "--quiet", ...WORKER, db],
    ...{ stdin: "piped", stdout: "piped" },
  }).spawn();
  const orders = child.stdin.getWriter();
  const ready = Promise.withResolvers<string>();
  let killAt = Infinity;
  let booked = 0;
  let isKilled = false;
  let done: ((result: CallsDone | undefined) => void) | undefined;
  const kill = () => {
    isKilled = true;
    try {
      child.kill("SIGKILL");
    } catch {
      // it has ended already
    }
  };
  const heard = (async () => {
    for await (
      const line of child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
    ) {
      if (line.startsWith("ready ")) ready.resolve(line.slice("ready ".length));
      else if (isKilled) continue; // also what it had written before
      else if (line !== "booked") done?.(JSON.parse(line));
      else if (++booked >= killAt) kill();
    }
  })();
  const ended = Promise.all([child.status, heard]).then(() => {
    ready.reject(new Error("A worker ended before it was ready"));
    done?.(undefined);
    return orders.abort().catch(() => {});
  });
  return {
    instanceId: await ready.promise,
    order(order) {
      const { promise, resolve } = Promise.withResolvers<CallsDone | undefined>();
      done = resolve;
      orders.write(new TextEncoder().encode(JSON.stringify(order) + "\n")).catch(() => {});
      return promise;
    },
    killAfter: (calls) => void (killAt = booked + calls),
    async [Symbol.asyncDispose]() {
      kill();
      await ended;
    },
  };
}
