import type { Client } from "@libsql/client/web";
import type { Clock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import { createRemoteClient, hostOf, readBatch, type RemotePlace, within } from "./remote_client.ts";
import { MAX_LAG_MS, type ReplicaState, type ResultSet, type Statement } from "./store.ts";

/** How long a replica may take before the primary is asked instead. */
const TIMEOUT_MS = 1_000;
/** How long a replica that did not answer, or is too far behind, is left alone. */
const REST_MS = 30_000;
/** How far apart the commits are that a replica is measured by. */
const MARK_EVERY_MS = 2_000;

const FIND_TOKEN = "SELECT 1 FROM write_tokens WHERE token = ?";

/** A commit of this process: a replica that shows its token shows all that was committed before `begunAt`. */
interface Mark {
  token: string;
  begunAt: number;
}

/** What following a replica needs. */
export interface ReplicaOptions extends Omit<RemotePlace, "timeoutMs"> {
  clock: Clock;
  log: Log;
  /** Makes a commit of which `note` hears, so that there is something to measure by. */
  mark: () => Promise<unknown>;
}

/**
 * A copy of the database on another server, for reads that may be a little late. How late it is, is not believed but
 * looked at with each read, in the same view: by the token of a commit that is at most MAX_LAG_MS old. A server with
 * another database, or one whose copy stands still, shows no such token, and is not used.
 */
export class Replica implements ReplicaState {
  readonly where: string;
  #client: Client;
  #marks: Mark[] = [];
  #isMarking = false;
  #restsUntil = -Infinity;
  #isInTrouble = false;

  constructor(private readonly options: ReplicaOptions) {
    this.where = hostOf(options.url);
    this.#client = createRemoteClient({ ...options, timeoutMs: TIMEOUT_MS });
  }

  /** Tells of a commit that the primary has made. */
  note(token: string, begunAt: number): void {
    const newest = this.#marks.at(-1);
    if (newest && begunAt - newest.begunAt < MARK_EVERY_MS) return;
    this.#marks.push({ token, begunAt });
    this.#forgetOld();
  }

  /** Undefined where the primary has to be asked: the replica rests, does not answer, or is too far behind. */
  async read(statements: readonly Statement[]): Promise<ResultSet[] | undefined> {
    const now = this.options.clock.monotonic();
    if (now < this.#restsUntil) return undefined;
    const mark = this.#measure(now);
    if (!mark) return undefined;
    try {
      const found = await this.#ask(mark, statements);
      if (found) {
        this.#recover();
        return found;
      }
      // Behind a commit that was only just made: that is what a replica is like.
      if (now - mark.begunAt >= MAX_LAG_MS / 2) this.#rest("it is too far behind");
    } catch (error) {
      this.#rest(messageOf(error));
    }
    return undefined;
  }

  async problem(): Promise<string | undefined> {
    if (!this.#measure(this.options.clock.monotonic())) await this.options.mark();
    const mark = this.#marks[0];
    if (!mark) return "nothing is known to measure it by";
    for (let tries = 1;; tries++) {
      try {
        if (await this.#ask(mark, [])) return undefined;
      } catch (error) {
        return messageOf(error);
      }
      if (tries === 10) return "it does not show what was just written to the primary";
      await this.options.clock.sleep(MAX_LAG_MS / 100);
    }
  }

  close(): void {
    this.#client.close();
  }

  async #ask(mark: Mark, statements: readonly Statement[]): Promise<ResultSet[] | undefined> {
    const all = [{ sql: FIND_TOKEN, args: [mark.token] }, ...statements];
    const [seen, ...results] = await within(TIMEOUT_MS, readBatch(this.#client, all));
    return seen!.rows.length > 0 ? results : undefined;
  }

  /** The oldest commit that is not too old; sees to it that there is one, as an idle process makes none. */
  #measure(now: number): Mark | undefined {
    this.#forgetOld();
    const newest = this.#marks.at(-1);
    if (!this.#isMarking && (!newest || now - newest.begunAt > MAX_LAG_MS / 2)) {
      this.#isMarking = true;
      this.options.mark().catch(() => {}).finally(() => this.#isMarking = false);
    }
    return this.#marks[0];
  }

  #forgetOld(): void {
    const oldest = this.options.clock.monotonic() - MAX_LAG_MS;
    while (this.#marks.length > 0 && this.#marks[0]!.begunAt < oldest) this.#marks.shift();
  }

  #rest(reason: string): void {
    this.#restsUntil = this.options.clock.monotonic() + REST_MS;
    if (this.#isInTrouble) return;
    this.#isInTrouble = true;
    this.options.log.warn("The replica is not used for now; the primary answers all reads", {
      replica: this.where,
      reason,
    });
  }

  #recover(): void {
    if (!this.#isInTrouble) return;
    this.#isInTrouble = false;
    this.options.log.info("The replica is used again", { replica: this.where });
  }
}
