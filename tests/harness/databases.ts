import { join } from "node:path";
import type { Clock } from "../../src/kernel/clock.ts";
import { createIds } from "../../src/kernel/ids.ts";
import { prepareDatabaseFile } from "../../src/store/sqlite/database_file.ts";
import { migrate } from "../../src/store/schema/migrate.ts";
import { databaseLogic } from "../../src/service/parts.ts";
import { installLogic, type Store } from "../../src/store/mod.ts";
import { RemoteStore } from "../../src/store/libsql/libsql_store.ts";
import { migratedMemory } from "./migrated_memory.ts";
import { SqliteStore } from "../../src/store/sqlite/sqlite_store.ts";
import { emptiedDatabases, type MigratedDatabases } from "./emptied_postgres.ts";
import { eagerClock } from "./eager_clock.ts";
import { PostgresStore } from "../../src/store/postgres/postgres_store.ts";
import { type PostgresDatabase, type PostgresDatabases, sharedPostgres, skipPostgres } from "./postgres.ts";
import { isThorough } from "./thorough.ts";
import { skipSqld, type Sqld, type SqldDatabase, startSqld } from "./sqld.ts";

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
  /** The address of a database that has been migrated, for a Purser that opens it by itself; of PostgreSQL. */
  address?(): Promise<string>;
}

/** One kind of database. */
export interface DatabaseKind {
  name: "file" | "memory" | "sqld" | "postgres";
  /** The reason to skip its tests, if there is one. */
  ignore: boolean;
  create(): Promise<TestDatabase>;
}

let kinds: DatabaseKind[] | undefined;

/**
 * The four kinds of database. Registers hooks that end the servers which the first test over each starts, for the whole test
 * file and for those that are imported with it, so it is called at the top of a file.
 */
export function databaseKinds(): DatabaseKind[] {
  return kinds ??= [...createKinds(), createPostgresKind()];
}

/**
 * The kinds with different dialects, for a suite about statements: over sqld and in memory, which have the dialect of a file, it
 * runs in a thorough run only. Their drivers are tested with the store, the ledger, bookings and budgets, which run over all
 * kinds, and that of sqld by the requests of `tests/rest/`, too.
 */
export function dialectKinds(): DatabaseKind[] {
  return databaseKinds().filter(({ name }) => isThorough || name === "file" || name === "postgres");
}

function createPostgresKind(): DatabaseKind {
  let server: Promise<PostgresDatabases> | undefined;
  let count = 0;
  // Modules may share the server.
  const prefix = `t${crypto.randomUUID().slice(0, 8)}`;
  const newName = () => `${prefix}_${++count}`;
  let migrated: MigratedDatabases | undefined;
  Deno.test.afterAll(async () => await (await server)?.[Symbol.asyncDispose]());
  return {
    name: "postgres",
    ignore: skipPostgres,
    async create() {
      const running = await (server ??= sharedPostgres());
      const databases = migrated ??= emptiedDatabases(
        running,
        () => migrateOnPostgres(running, `${prefix}_migrated`),
        newName,
      );
      return createOnPostgres(running, newName, databases);
    },
  };
}

function createKinds(): DatabaseKind[] {
  let sqld: Promise<Sqld> | undefined;
  let created = 0;
  let inUse = 0;
  Deno.test.afterAll(async () => await (await sqld)?.[Symbol.asyncDispose]());
  const createOnServer = async (): Promise<TestDatabase> => {
    if (created >= DATABASES_PER_SERVER && inUse === 0) {
      await (await sqld)?.[Symbol.asyncDispose]();
      sqld = undefined;
      created = 0;
    }
    created++;
    inUse++;
    const { open, ...database } = createRemote(await (sqld ??= startSqld()));
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

let migratedFile: Promise<Uint8Array> | undefined;

/** Returns the content of a migrated file: a copy of it is migrated in a fraction of the time. */
async function makeMigratedFile(): Promise<Uint8Array> {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  const path = join(directory, "purser.db");
  const store = await SqliteStore.open({ path, durability: "normal" });
  await prepare(store);
  await store.close();
  const content = await Deno.readFile(path);
  await Deno.remove(directory, { recursive: true });
  return content;
}

async function createFile(): Promise<TestDatabase> {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  const path = join(directory, "purser.db");
  const stores: Store[] = [];
  const create = async (isMigrated: boolean) => {
    await prepareDatabaseFile(path);
    if (isMigrated) await Deno.writeFile(path, await (migratedFile ??= makeMigratedFile()));
  };
  let created: Promise<void> | undefined;
  return {
    async open(options = {}) {
      // Once, also for stores that are opened at the same time: a file in use must not be written over.
      await (created ??= create(options.isMigrated !== false));
      await prepareDatabaseFile(path);
      const { onCommit } = options;
      const store = await SqliteStore.open({ path, durability: "normal", onCommit });
      stores.push(store);
      return store;
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
    async open({ isMigrated = true, onCommit } = {}) {
      const driver = isMigrated ? await migratedMemory() : undefined;
      const store = await SqliteStore.open({ path: ":memory:", durability: "normal", onCommit, driver });
      stores.push(store);
      return store;
    },
    [Symbol.asyncDispose]: () => closeAll(stores),
  };
}

const migratedDatabases = new WeakMap<Sqld, Promise<SqldDatabase>>();

/** Creates a database on a server as a process of Purser leaves a new one: the copy of a migrated one. */
export async function createMigrated(sqld: Sqld): Promise<SqldDatabase> {
  const model = migratedDatabases.get(sqld) ?? migrateOn(sqld);
  migratedDatabases.set(sqld, model);
  return await sqld.copyDatabase((await model).name);
}

async function migrateOn(sqld: Sqld): Promise<SqldDatabase> {
  const database = await sqld.createDatabase();
  const store = openRemote(database);
  await prepare(store);
  await store.close();
  return database;
}

function openRemote({ url, fetch }: Pick<SqldDatabase, "url" | "fetch">, options: OpenOptions = {}): Store {
  const clock = options.clock ?? eagerClock();
  const ids = createIds(clock);
  return new RemoteStore({
    url,
    timeoutMs: options.timeoutMs ?? 30_000, // for a busy machine
    clock,
    newToken: () => ids.next("req"),
    fetch,
  });
}

function createRemote(sqld: Sqld): TestDatabase {
  let database: Promise<SqldDatabase> | undefined;
  const stores: Store[] = [];
  return {
    async open(options = {}) {
      const { url, fetch } =
        await (database ??= options.isMigrated === false ? sqld.createDatabase() : createMigrated(sqld));
      const counting: typeof globalThis.fetch = async (input, init) => {
        const request = input as Request;
        const body = await request.text();
        if (body.includes('"COMMIT"') && body.includes("BEGIN IMMEDIATE")) options.onCommit?.();
        return await fetch(
          new Request(request.url, { method: "POST", headers: request.headers, body }),
          init,
        );
      };
      const store = openRemote({ url, fetch: counting }, options);
      stores.push(store);
      return store;
    },
    [Symbol.asyncDispose]: () => closeAll(stores),
  };
}

async function migrateOnPostgres(server: PostgresDatabases, name: string): Promise<string> {
  const database = await server.createDatabase(name);
  const store = openPostgres(database.url);
  await prepare(store);
  await store.close();
  return name;
}

function openPostgres(url: string, options: OpenOptions = {}): Store {
  const clock = options.clock ?? eagerClock();
  const ids = createIds(clock);
  return new PostgresStore({
    url,
    timeoutMs: options.timeoutMs ?? 30_000, // for a busy machine
    clock,
    newToken: () => ids.next("req"),
    onCommit: options.onCommit,
  });
}

function createOnPostgres(
  server: PostgresDatabases,
  newName: () => string,
  migrated: MigratedDatabases,
): TestDatabase {
  const stores: Store[] = [];
  let database: Promise<PostgresDatabase> | undefined;
  const create = (isMigrated: boolean) => isMigrated ? migrated.take() : server.createDatabase(newName());
  return {
    address: async () => (await (database ??= create(true))).url,
    async open(options = {}) {
      const { url } = await (database ??= create(options.isMigrated !== false));
      const store = openPostgres(url, options);
      stores.push(store);
      return store;
    },
    async [Symbol.asyncDispose]() {
      await closeAll(stores);
      await (await database)?.[Symbol.asyncDispose]();
    },
  };
}

/** Migrates an empty database. */
async function prepare(store: Store): Promise<void> {
  await migrate(store, eagerClock());
  await installLogic(store, databaseLogic);
}

async function closeAll(stores: readonly Store[]): Promise<void> {
  for (const store of stores) await store.close();
}
