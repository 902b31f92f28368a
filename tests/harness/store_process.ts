import { databaseLogic } from "../../src/service/parts.ts";
/**
 * A process that uses a database file as a command or a service would, for tests of several at once. It is run with one
 * argument of JSON; it prints one line of JSON for each result.
 */
import { systemClock } from "../../src/kernel/clock.ts";
import { createIds } from "../../src/kernel/ids.ts";
import { createInstanceLocks } from "../../src/store/sqlite/database_file.ts";
import { openStore } from "../../src/store/open_store.ts";
import { SqliteStore } from "../../src/store/sqlite/sqlite_store.ts";

/** The task of such a process. */
export type Task =
  /** Commits rows one by one, `count` of them or until it is killed; prints the number of each that is committed. */
  | { do: "insert"; path: string; name: string; count?: number; durability?: "full" | "normal" }
  /** Opens and migrates a database; prints its schema's version. */
  | { do: "migrate"; path: string }
  /** Takes the write lock, prints a line, and keeps it until it is killed or its input ends. */
  | { do: "hold_write_lock"; path: string; sql?: string }
  /** Commits a row, and stops itself (SIGSTOP) when it has written another one and is about to commit it. */
  | { do: "stop_in_commit"; path: string; name: string }
  /** Holds the lock of an instance, prints a line, and ends when its input ends. */
  | { do: "hold_instance"; path: string; instanceId: string };

/** A task that runs in a process of its own. */
export interface StoreProcess {
  /** Resolves with the next line; undefined at the end. */
  next(): Promise<string | undefined>;
  /** Ends the input, which tasks that hold a lock wait for. */
  end(): Promise<void>;
  /** Resumes a stopped process (SIGCONT). */
  resume(): void;
  kill(): Promise<void>;
  /** Returns all further lines once the process has exited successfully. */
  rest(): Promise<string[]>;
}

/** Starts such a process. */
export function startStoreProcess(task: Task): StoreProcess {
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-RWENS", "--quiet", "--no-check", "--config", config],
      ...[new URL(import.meta.url).pathname, JSON.stringify(task)],
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(splitLines()).getReader();
  const next = async () => (await lines.read()).value;
  const rest = async () => {
    const all: string[] = [];
    for (let line; (line = await next()) !== undefined;) all.push(line);
    return all;
  };
  return {
    next,
    async rest() {
      const all = await rest();
      const { success } = await child.status;
      await child.stdin.close().catch(() => {});
      if (!success) throw new Error(`The process of ${JSON.stringify(task)} failed`);
      return all;
    },
    async end() {
      await child.stdin.close();
      await rest();
      await child.status;
    },
    resume: () => child.kill("SIGCONT"),
    async kill() {
      try {
        child.kill("SIGKILL");
      } catch {
        return; // it has already ended
      }
      await rest();
      await child.status;
      await child.stdin.close().catch(() => {});
    },
  };
}

function splitLines(): TransformStream<string, string> {
  let open = "";
  return new TransformStream({
    transform(chunk, controller) {
      const lines = (open + chunk).split("\n");
      open = lines.pop()!;
      for (const line of lines) controller.enqueue(line);
    },
  });
}

/** Resolves when the parent process ends the input. */
async function untilInputEnds(): Promise<void> {
  for await (const _ of Deno.stdin.readable);
}

async function run(task: Task): Promise<void> {
  const { path } = task;
  switch (task.do) {
    case "insert": {
      const store = await SqliteStore.open({ path, durability: task.durability ?? "normal" });
      for (let i = 0; i < (task.count ?? Infinity); i++) {
        await store.write([{ sql: "INSERT INTO t (name, n) VALUES (?, ?)", args: [task.name, i] }]);
        console.log(i);
      }
      return await store.close();
    }
    case "migrate": {
      const location = { kind: "file", path } as const;
      const ids = createIds(systemClock);
      const store = await openStore({
        logic: databaseLogic,
        ...{ location, durability: "full", remoteTimeoutMs: 1_000, clock: systemClock, ids },
      });
      const { rows } = await store.read({ sql: "SELECT max(version) FROM purser_migrations" });
      console.log(String(rows[0]![0]));
      return await store.close();
    }
    case "hold_write_lock": {
      const { DatabaseSync } = await import("node:sqlite");
      const database = new DatabaseSync(path);
      database.exec(task.sql ?? "BEGIN IMMEDIATE");
      console.log("held");
      await untilInputEnds();
      return database.close();
    }
    case "stop_in_commit": {
      const { loadSqlite } = await import("../../src/store/sqlite/sqlite_driver.ts");
      const real = await loadSqlite();
      let commits = 0;
      const connect: typeof real.connect = (...args) => {
        const connection = real.connect(...args);
        const { prepare } = connection;
        connection.prepare = (sql) => {
          const statement = prepare(sql);
          if (sql !== "COMMIT") return statement;
          const { run } = statement;
          const stopping = () => {
            if (++commits === 2) {
              console.log("stopped");
              Deno.kill(Deno.pid, "SIGSTOP");
            }
            return run.call(statement);
          };
          return {
            run: stopping,
            all: () => statement.all(),
            iterate: () => statement.iterate(),
            columns: () => statement.columns(),
          };
        };
        return connection;
      };
      const store = await SqliteStore.open({ path, durability: "full", driver: { ...real, connect } });
      for (let i = 0; i < 2; i++) {
        await store.write([{ sql: "INSERT INTO t (name, n) VALUES (?, ?)", args: [task.name, i] }]);
        console.log(`committed ${i}`);
      }
      return await store.close();
    }
    case "hold_instance": {
      const locks = createInstanceLocks(path);
      await locks.hold(task.instanceId);
      console.log("held");
      await untilInputEnds();
      return await locks.close();
    }
  }
}

if (import.meta.main) await run(JSON.parse(Deno.args[0]!));
