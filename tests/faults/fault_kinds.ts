import assert from "node:assert/strict";
import { type Cut } from "../harness/cutting_proxy.ts";
import { DRIVER_MOMENTS } from "./driver_faults.ts";
import { type FaultScene, SERVERS, type Where } from "./fault_scene.ts";

/**
 * One kind of fault: `inject` makes it happen to processes at work, and undoes what would keep them from working. After each
 * fault the suite checks the books; see `FaultScene.check()`.
 */
export interface FaultKind {
  name: string;
  wheres: readonly Where[];
  /** The share of it among all that are possible. */
  weight: number;
  inject(scene: FaultScene): Promise<void>;
}

const HOUR_MS = 3_600_000;

const isRefusal = ({ refused }: { refused?: true }) => refused === true;

/** Every kind of fault. A new one is in the suite by being here. */
export const FAULT_KINDS: readonly FaultKind[] = [
  {
    name: "kill -9",
    wheres: ["file", "disk", ...SERVERS],
    weight: 5,
    inject: (scene) => scene.replace([scene.pick()]),
  },
  {
    name: "kill -9 of all at once",
    wheres: ["file", ...SERVERS],
    weight: 1,
    inject: (scene) => scene.replace([...scene.workers]),
  },
  {
    name: "a power loss that cuts the log of commits",
    wheres: ["file"],
    weight: 2,
    inject: (scene) => scene.losePower(),
  },
  {
    name: "a process frozen and continued",
    wheres: ["file", ...SERVERS],
    weight: 3,
    async inject(scene) {
      const worker = scene.pick();
      worker.signal("SIGSTOP");
      await scene.wait(200);
      worker.signal("SIGCONT");
    },
  },
  {
    name: "write errors of the system",
    wheres: ["file"],
    weight: 4,
    async inject(scene) {
      const worker = scene.pick();
      // Writes past the size of the smallest file fail with EFBIG, some of them halfway through a page.
      await limitFiles(worker.pid, `${Math.floor(scene.random() * 40_000)}`);
      const isFelt = await scene.untilSaid([worker], isRefusal);
      await limitFiles(worker.pid, "unlimited");
      assert.ok(isFelt, "a process that can't write refuses actions");
    },
  },
  ...DRIVER_MOMENTS.map((moment): FaultKind => ({
    name: `an I/O error of SQLite: ${moment}`,
    wheres: ["file"],
    weight: 5,
    async inject(scene) {
      const worker = scene.pick();
      const turn = 1 + Math.floor(scene.random() * (moment === "statement" ? 12 : 3));
      const hit = scene.untilSaid([worker], ({ hit }) => hit === moment);
      void worker.order({ fault: { moment, turn } });
      assert.ok(await hit, `SQLite fails: ${moment}, the ${turn}th`);
    },
  })),
  ...[HOUR_MS, -HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS].map((step): FaultKind => ({
    name: `a clock step of ${step / HOUR_MS} h`,
    wheres: ["file", ...SERVERS],
    weight: 1,
    async inject(scene) {
      // Of one process, so that it differs from the others, or of all.
      const stepped = scene.random() < 0.7 ? [scene.pick()] : [...scene.workers];
      for (const worker of stepped) void worker.order({ step });
      await scene.wait(300);
      if (scene.random() < 0.5) { for (const worker of stepped) void worker.order({ step: 0 }); }
    },
  })),
  {
    name: "a full disk",
    wheres: ["disk"],
    weight: 10,
    async inject(scene) {
      scene.disk!.fill("rest");
      const isFelt = await scene.untilSaid(scene.workers, isRefusal);
      await scene.wait();
      await Deno.remove(`${scene.disk!.inside}/rest`);
      assert.ok(isFelt, "processes on a full disk refuse actions");
    },
  },
  ...(["before the commit", "after the commit"] as Cut[]).map((moment): FaultKind => ({
    name: `a connection cut ${moment}`,
    wheres: SERVERS,
    weight: 6,
    inject: (scene) => scene.proxy!.cut(moment, 1 + Math.floor(scene.random() * 3)),
  })),
  {
    name: "all connections dropped",
    wheres: SERVERS,
    weight: 3,
    async inject(scene) {
      scene.proxy!.drop();
      await scene.wait();
    },
  },
  {
    name: "the server killed, and started again on its data",
    wheres: SERVERS,
    weight: 2,
    async inject(scene) {
      await scene.server!.kill();
      await scene.wait(300);
      await scene.server!.restart();
    },
  },
  ...["an empty one", "one without the database"].map((other): FaultKind => ({
    name: `the server replaced by ${other}`,
    wheres: SERVERS,
    weight: 1,
    async inject(scene) {
      const back = await scene.replaceServer({ hasDatabase: other === "an empty one" });
      const isFelt = await scene.untilSaid(scene.workers, isRefusal);
      await back();
      assert.ok(isFelt, "processes refuse actions on a database that is not theirs");
    },
  })),
  {
    name: "the server frozen",
    wheres: SERVERS,
    weight: 2,
    async inject(scene) {
      await scene.server!.pause();
      // Mostly shorter than the timeout of a request, sometimes longer.
      if (scene.random() < 0.2) await scene.untilSaid(scene.workers, isRefusal, 10_000);
      else await scene.wait(600);
      scene.server!.resume();
    },
  },
  {
    name: "a process of PostgreSQL killed",
    wheres: ["postgres"],
    weight: 2,
    async inject(scene) {
      // The server ends all connections, and recovers from its log.
      const backends = await scene.postgres!.backends();
      const pid = backends[Math.floor(scene.random() * backends.length)];
      if (pid !== undefined) Deno.kill(pid, "SIGKILL");
      await scene.wait();
    },
  },
  {
    name: "connections ended by an administrator",
    wheres: ["postgres"],
    weight: 2,
    async inject(scene) {
      for (const pid of await scene.postgres!.backends()) Deno.kill(pid, "SIGTERM");
      await scene.wait();
    },
  },
];

/** Limits the size of the files that a process may write; what it has written stays. */
async function limitFiles(pid: number, bytes: string): Promise<void> {
  const { success, stderr } = await new Deno.Command("prlimit", {
    args: ["--pid", String(pid), `--fsize=${bytes}:`],
    ...{ stdout: "null", stderr: "piped" },
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}
