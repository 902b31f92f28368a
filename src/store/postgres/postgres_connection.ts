import { readFile } from "node:fs/promises";
import { Buffer } from "node:buffer";
import pg from "pg";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import type { ResultSet, SqlValue } from "../store.ts";
import { NO_ANSWER } from "../within.ts";
import { ReplicaError } from "./postgres_errors.ts";
import type { PostgresAddress } from "./postgres_address.ts";
import { checkOf, checkServer, optionsOf, type Role, sessionOf, settingsOf } from "./postgres_session.ts";
import type { BoundStatement } from "./statement_text.ts";

/** The part of a client of `pg` that is used, beyond its documented API its connection: a batch writes to it as `pg-cursor` does. */
interface Client {
  readonly connection: Wire;
  readonly _queryable: boolean;
  readonly _ended: boolean;
  readonly _ending: boolean;
  connect(): Promise<unknown>;
  query(batch: Batch): void;
  query(query: { text: string; rowMode: "array" }): Promise<{ rows: unknown[][] }>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "notice", listener: (notice: { code?: string; message?: string }) => void): void;
}

const { Client } = pg as unknown as { Client: new (config: object) => Client };

interface Wire {
  stream: { cork(): void; uncork(): void; destroy(error?: Error): void };
  parse(message: { name: string; text: string }): void;
  bind(message: { statement: string; values: readonly (string | Buffer | null)[] }): void;
  describe(message: { type: "S"; name: string }): void;
  execute(message: object): void;
  close(message: { type: "S"; name: string }): void;
  sync(): void;
  on(event: "parseComplete", listener: () => void): void;
}

/** The options of a connection. */
export interface ConnectionOptions {
  address: PostgresAddress;
  password?: string;
  /** The longest that a statement of a read, or the wait of a commit for others, may take on the server. */
  timeoutMs: number;
}

/** Connects once more to the server of a connection, which has been quiet for so long. Rejects unless it is the primary. */
interface Asking {
  afterMs: number;
  ask(): Promise<void>;
}

const MAX_PREPARED = 256;
const KEEP_ALIVE_AFTER_MS = 10_000;
const LONGEST_END_MS = 1_000;
/**
 * A server that hasn't answered for so long is asked on another connection, which may take as long; so may one of several servers
 * to connect. In ms, and as a part of the longest that a commit may take.
 */
const LONGEST_QUIET_MS = 3_000;
const QUIET_PART = 0.1;
const SHORTEST_QUIET_MS = 1_000;

/** Statements that are run once, and prepared under no name. */
const IS_PREPARED = /^\s*(?:SELECT|WITH|INSERT|UPDATE|DELETE|VALUES)\b/i;

interface Prepared {
  name: string;
  /** Empty until the server has described them, and for a statement without rows. */
  columns: readonly Column[];
}

interface Column {
  name: string;
  read(text: string): SqlValue;
}

/** One connection. It is never used again after an error of its own: another one is opened instead. */
export class PostgresConnection {
  #client: Client;
  #wire: Wire;
  /** In order of last use. */
  #prepared = new Map<string, Prepared>();
  #names = 0;
  /** The texts that the server has yet to confirm as prepared, in the order of their messages. */
  #parsing: string[] = [];
  /** True if the last commit was acknowledged although no standby has it. */
  isUnreplicated = false;

  /** Takes over a client that has connected. */
  constructor(
    client: Client,
    /** False for a schema in which nothing was committed yet. */
    public hasTokens: boolean,
    private readonly asking: Asking,
    /** The settings of each batch, where the session isn't its own: it prepares nothing there. */
    private readonly settings: BoundStatement | undefined,
  ) {
    this.#client = client;
    this.#wire = client.connection;
    this.#wire.on("parseComplete", () => void this.#parsing.shift());
    client.on("notice", ({ code, message }) => {
      if (code === "01000" && /synchronous replication/.test(message ?? "")) this.isUnreplicated = true;
    });
  }

  /**
   * Connects to the server of an address that answers first as the primary: all are asked at once, since one that is frozen or
   * cut off answers nothing.
   *
   * @throws {PurserError} `unsupported` for a server that can't be used; errors of `pg` where none can be reached
   */
  static async open(options: ConnectionOptions, role: Role, timeoutMs: number): Promise<PostgresConnection> {
    const { servers } = options.address;
    const others = new AbortController();
    const longestMs = servers.length === 1 ? timeoutMs : Math.min(timeoutMs, quietOf(options));
    const attempts = servers.map((server) => connect(server, options, role, longestMs, others.signal));
    try {
      const first = await Promise.any(attempts);
      for (const attempt of attempts) {
        attempt.then((late) => late === first ? undefined : late.close(), () => {});
      }
      return first;
    } catch (error) {
      const { errors } = error as AggregateError;
      throw errors.find((each) => each instanceof PurserError) ?? errors.findLast(isNoReplica) ?? errors[0];
    } finally {
      others.abort();
    }
  }

  /** False once it has failed or ended. */
  get isUsable(): boolean {
    const { _queryable, _ended, _ending } = this.#client;
    return _queryable && !_ended && !_ending;
  }

  /**
   * Sends all statements at once. Without BEGIN they are one transaction: the server commits at their end, and discards all of
   * them after the first that fails. So no lock is held while messages travel, and none of them can run outside of it. A
   * server that is quiet is asked on another connection: if it doesn't answer there either, or no longer as the primary, this
   * one is given up before the deadline.
   */
  run(statements: readonly BoundStatement[], timeoutMs: number): Promise<ResultSet[]> {
    const { settings } = this;
    if (settings === undefined || statements[0]!.text === "ROLLBACK") return this.#run(statements, timeoutMs);
    const start = statements[0]!.text.startsWith("BEGIN") ? 1 : 0;
    return this.#run(statements.toSpliced(start, 0, settings), timeoutMs)
      .then((results) => results.toSpliced(start, 1));
  }

  async #run(statements: readonly BoundStatement[], timeoutMs: number): Promise<ResultSet[]> {
    this.isUnreplicated = false;
    const timer = setTimeout(
      () => this.destroy(new DOMException(NO_ANSWER, "TimeoutError")),
      Math.max(0, timeoutMs),
    );
    const { ask, afterMs } = this.asking;
    const watch = setInterval(() => ask().catch((error) => this.destroy(error)), afterMs);
    try {
      return await new Promise((resolve, reject) => {
        this.#client.query(new Batch((wire) => this.#send(wire, statements), resolve, reject));
      });
    } catch (error) {
      for (const text of this.#parsing.splice(0)) this.#prepared.delete(text); // those after the failure
      throw error;
    } finally {
      clearTimeout(timer);
      clearInterval(watch);
    }
  }

  #send(wire: Wire, statements: readonly BoundStatement[]): Prepared[] {
    wire.stream.cork(); // one write
    try {
      const sent = statements.map(({ text, values }) => {
        const prepared = this.#prepare(wire, text);
        wire.bind({ statement: prepared.name, values });
        wire.execute({});
        return prepared;
      });
      wire.sync();
      return sent;
    } finally {
      wire.stream.uncork();
    }
  }

  #prepare(wire: Wire, text: string): Prepared {
    const known = this.#prepared.get(text);
    if (known) {
      this.#prepared.delete(text);
      this.#prepared.set(text, known);
      return known;
    }
    const isKept = this.settings === undefined && IS_PREPARED.test(text);
    const prepared: Prepared = { name: isKept ? `purser_${++this.#names}` : "", columns: [] };
    wire.parse({ name: prepared.name, text });
    wire.describe({ type: "S", name: prepared.name });
    this.#parsing.push(text);
    if (!isKept) return prepared;
    this.#prepared.set(text, prepared);
    if (this.#prepared.size > MAX_PREPARED) {
      const [oldest, { name }] = this.#prepared.entries().next().value!;
      this.#prepared.delete(oldest);
      wire.close({ type: "S", name });
    }
    return prepared;
  }

  /** Ends it at once, with everything that it waits for. */
  destroy(reason: Error): void {
    this.#wire.stream.destroy(reason);
  }

  /** Ends it; without the server, if that doesn't answer. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#wire.stream.destroy(), LONGEST_END_MS);
    await this.#client.end().catch(() => {});
    clearTimeout(timer);
  }
}

/** The messages of one batch, as a client of `pg` passes them on: each of its queries has these methods. */
class Batch {
  #sent: Prepared[] = [];
  #results: ResultSet[] = [];
  #rows: SqlValue[][] = [];

  constructor(
    private readonly send: (wire: Wire) => Prepared[],
    private readonly resolve: (results: ResultSet[]) => void,
    private readonly reject: (error: unknown) => void,
  ) {}

  submit(wire: Wire): Error | null {
    try {
      this.#sent = this.send(wire);
      return null;
    } catch (error) {
      return error as Error;
    }
  }

  get #current(): Prepared {
    return this.#sent[this.#results.length]!;
  }

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }): void {
    this.#current.columns = fields.map(({ name, dataTypeID }) => ({ name, read: readerOf(dataTypeID) }));
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const { columns } = this.#current;
    const row = new Array<SqlValue>(fields.length);
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i]!;
      row[i] = field === null ? null : columns[i]!.read(field);
    }
    this.#rows.push(row);
  }

  handleCommandComplete(): void {
    const { columns } = this.#current;
    this.#results.push({ columns: columns.map(({ name }) => name), rows: this.#rows });
    this.#rows = [];
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete();
  }

  handleReadyForQuery(): void {
    this.resolve(this.#results);
  }

  handleError(error: unknown): void {
    this.reject(error);
  }
}

/** Returns the function that reads a value of a type from its text: integers as bigint, as from every driver. */
function readerOf(type: number): (text: string) => SqlValue {
  switch (type) {
    case 20: // bigint
    case 21: // smallint
    case 23: // integer
    case 26: // oid
      return BigInt;
    case 1700: // numeric, as sums of bigint are
      return (text) => /[.N]/.test(text) ? Number(text) : BigInt(text);
    case 700: // real
    case 701: // double precision
      return Number;
    case 16: // boolean
      return (text) => text === "t" ? 1n : 0n;
    case 17: // bytea
      return (text) => new Uint8Array(Buffer.from(text.slice(2), "hex"));
    default:
      return (text) => text;
  }
}

const quietOf = ({ timeoutMs }: ConnectionOptions) =>
  Math.min(LONGEST_QUIET_MS, Math.max(SHORTEST_QUIET_MS, timeoutMs * QUIET_PART));

const isNoReplica = (error: unknown) => !(error instanceof ReplicaError);

async function connect(
  server: PostgresAddress["servers"][number],
  options: ConnectionOptions,
  role: Role,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<PostgresConnection> {
  const { host, port } = server;
  const { address, password = "", timeoutMs: longestMs } = options;
  const quietMs = quietOf(options);
  const asking: Asking = {
    afterMs: quietMs,
    ask: async () => await (await connect(server, options, "ask", quietMs)).close(),
  };
  const { user, database, tls } = address;
  const settings = sessionOf(address, role, longestMs);
  const session = crypto.randomUUID();
  const tryWith = async (ssl: false | object, hasOptions = true): Promise<PostgresConnection> => {
    const client = new Client({
      ...{ host, port, user, database, ssl },
      password: () => password, // not from the environment or a file of its own
      application_name: "purser",
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
      ...(hasOptions && { options: optionsOf(settings, session) }),
    });
    client.on("error", () => {}); // the batch that waits for an answer is told it
    const giveUp = () => client.connection.stream.destroy(new DOMException(NO_ANSWER, "TimeoutError"));
    const timer = setTimeout(giveUp, Math.max(1, timeoutMs));
    signal?.addEventListener("abort", giveUp);
    try {
      await client.connect();
      const { rows } = await client.query({ text: checkOf(address, role, session), rowMode: "array" });
      const { isOwn, hasTokens } = checkServer(rows[0]!, role, session, `${host}:${port}`);
      return new PostgresConnection(client, hasTokens, asking, isOwn ? undefined : settingsOf(settings));
    } catch (error) {
      client.connection.stream.destroy();
      if (hasOptions && /unsupported startup parameter/.test(messageOf(error))) {
        return await tryWith(ssl, false);
      }
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
    }
  };
  if (tls === "disable" || host.startsWith("/")) return await tryWith(false);
  try {
    return await tryWith(await tlsOptions(address));
  } catch (error) {
    if (tls !== "prefer" || !/does not support SSL/.test(messageOf(error))) throw error;
    return await tryWith(false);
  }
}

async function tlsOptions({ tls, rootCert, cert, key }: PostgresAddress): Promise<object> {
  const read = (path: string | undefined) => path === undefined ? undefined : readFile(path, "utf8");
  const isChecked = tls === "verify-ca" || tls === "verify-full" || rootCert !== undefined;
  return {
    rejectUnauthorized: isChecked,
    ...(rootCert !== "system" && { ca: await read(rootCert) }),
    ...{ cert: await read(cert), key: await read(key) },
    ...(isChecked && tls !== "verify-full" && { checkServerIdentity: () => undefined }),
  };
}
