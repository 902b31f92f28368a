import { join } from "node:path";
import type { Clock } from "../../src/kernel/clock.ts";
import { createIds } from "../../src/kernel/ids.ts";
import { prepareDatabaseFile } from "../../src/store/sqlite/database_file.ts";
import { migrate } from "../../src/store/schema/migrate.ts";
import { databaseLogic } from "../../src/service/parts.ts";
import { installLogic, type Store } from "../../src/store/mod.ts";
import { RemoteStore } from "../../src/store/libsql/libsql_store.ts";
import { SqliteStore } from "../../src/store/sqlite/sqlite_store.ts";
import { eagerClock } from "./eager_clock.ts";
import { skipSqld, type Sqld, startSqld } from "./sqld.ts";

/** The options with which a test opens a database. */
export interface OpenOptions {
  /** False leaves the schema as it is. */
  isMigrated?: boolean;
  clock?: Clock;
  timeoutMs?: number;
  /** Called after every commit that reaches the database. */
  onCommit?: () => void;
}

/** An empty database of one kind; opened again, a persistent one has its earlier content. */
export interface TestDatabase extends AsyncDisposable {
  open(options?: OpenOptions): Promise<Store>;
}

/** One kind of database. */
export interface DatabaseKind {
  name: "file" | "memory" | "sqld";
  /** The reason to skip its tests, if there is one. */
  ignore: boolean;
  create(): Promise<TestDatabase>;
}

/**
 * The three kinds of database. Registers hooks that run one libSQL server for the whole test file, so it is
 * called once, at the top of that file.
 */
export function databaseKinds(): DatabaseKind[] {
  let sqld: Sqld | undefined;
  let created = 0;
  let inUse = 0;
  if (!skipSqld) {
    Deno.test.beforeAll(async () => void (sqld = await startSqld()));
    Deno.test.afterAll(async () => await sqld?.[Symbol.asyncDispose]());
  }
  const createOnServer = async (): Promise<TestDatabase> => {
    if (created >= DATABASES_PER_SERVER && inUse === 0) {
      await sqld![Symbol.asyncDispose]();
      sqld = await startSqld();
      created = 0;
    }
    created++;
    inUse++;
    const { open, ...database } = await createRemote(sqld!);
    return {
      open,
      async [Symbol.asyncDispose]() {
        inUse--;
        await database[Symbol.asyncDispose]();
      },
    };
  };
  return [
    { name: "file", ignore: false, create: createFile },
    { name: "memory", ignore: false, create: () => Promise.resolve(createMemory()) },
    { name: "sqld", ignore: skipSqld, create: createOnServer },
  ];
}

/** A server with more databases sometimes answers 404 for a new one; then a new server is started. */
const DATABASES_PER_SERVER = 80;

async function createFile(): Promise<TestDatabase> {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  const path = join(directory, "purser.db");
  const stores: Store[] = [];
  return {
    async open(options = {}) {
      await prepareDatabaseFile(path);
      const { onCommit } = options;
      return await prepare(await SqliteStore.open({ path, durability: "normal", onCommit }), stores, options);
    },
    async [Symbol.asyncDispose]() {
      await closeAll(stores);
      await Deno.remove(directory, { recursive: true });
    },
  };
}

function createMemory(): TestDatabase {
  const stores: Store[] = [];
  return {
    async open(options = {}) {
      const { onCommit } = options;
      const store = await SqliteStore.open({ path: ":memory:", durability: "normal", onCommit });
      return await prepare(store, stores, options);
    },
    [Symbol.asyncDispose]: () => closeAll(stores),
  };
}

async function createRemote(sqld: Sqld): Promise<TestDatabase> {
  const { url, fetch } = await sqld.createDatabase();
  const stores: Store[] = [];
  return {
    open(options = {}) {
      const counting: typeof globalThis.fetch = async (input, init) => {
        const request = input as Request;
        const body = await request.text();
        if (body.includes('"COMMIT"') && body.includes("BEGIN IMMEDIATE")) options.onCommit?.();
        return await fetch(
          new Request(request.url, { method: "POST", headers: request.headers, body }),
          init,
        );
      };
      const clock = options.clock ?? eagerClock();
      const ids = createIds(clock);
      const store = new RemoteStore({
        url,
        timeoutMs: options.timeoutMs ?? 10_000,
        clock,
        newToken: () => ids.next("req"),
        fetch: counting,
      });
      return prepare(store, stores, options);
    },
    [Symbol.asyncDispose]: () => closeAll(stores),
  };
}

async function prepare(store: Store, stores: Store[], options: OpenOptions): Promise<Store> {
  stores.push(store);
  if (options.isMigrated !== false) {
    await migrate(store, options.clock ?? eagerClock());
    await installLogic(store, databaseLogic);
  }
  return store;
}

async function closeAll(stores: readonly Store[]): Promise<void> {
  for (const store of stores) await store.close();
}
