import { type Environment, parseDatabaseUrl } from "../config.ts";
import { type Core, type CoreOptions, openCore } from "../core.ts";
import { type Answering, createLateApp } from "../http/mod.ts";
import type { Log } from "../log.ts";
import { createOwnerDoor } from "./owner_door.ts";
import { type Owner, removeOwner } from "./owner_file.ts";

/** What opening a database from an entry needs. */
export interface OwnOptions extends CoreOptions {
  env: Environment;
  log: Log;
  /** Tells the person at the terminal something, on stderr. */
  say: (line: string) => void;
  /**
   * How long the owner of a local file may keep others out while it only reads; default: not at all. A command that is
   * over by then is spared a server, and who waits for the file tries again.
   */
  doorAfterMs?: number;
  /** Whose note was found beside the file and did not answer: it is taken away, so that nobody asks it again in vain. */
  deadOwner?: Owner;
}

/** A database that this process works on itself. */
export interface OwnedDatabase {
  core: Core;
  app: Answering;
  /**
   * Answers others until nothing of theirs is in flight, says so where there is something, and closes. With
   * `graceMs`, nothing new is taken, and runs that take longer are cancelled.
   */
  close(options?: { graceMs?: number }): Promise<void>;
}

/**
 * Opens the database. The owner of a local file answers on loopback, so that commands started beside it go through it; a
 * file beside the database tells them where.
 *
 * @throws {StoreBusyError} another process owns the file
 */
export async function ownDatabase(
  { say, doorAfterMs, deadOwner, ...options }: OwnOptions,
): Promise<OwnedDatabase> {
  const address = parseDatabaseUrl(options.config.dbUrl);
  const core = await openCore(options);
  const app = createLateApp(core);
  if (address.kind !== "file") return { core, app, close: (closing) => core.close(closing) };

  if (deadOwner) await removeOwner(address.path, deadOwner);
  const door = createOwnerDoor(core, app, address.path);
  let isOpen = true;
  try {
    if (doorAfterMs) door.openLater(doorAfterMs);
    else await door.open();
  } catch (error) {
    await door.close();
    await core.close();
    throw error;
  }
  return {
    core,
    app: {
      fetch(request, env) {
        // Who changes something takes longer, and may be one of many at once.
        if (request.method !== "GET") door.hurry();
        return app.fetch(request, env);
      },
    },
    async close(closing = {}) {
      if (!isOpen) return;
      isOpen = false;
      const waiting = Math.max(door.count(), core.liveRuns.size);
      if (waiting > 0) {
        say(`Waiting for ${waiting} ${waiting === 1 ? "request" : "requests"} of other commands to end`);
      }
      if (closing.graceMs !== undefined) core.stop();
      const isPatient = closing.graceMs === undefined;
      const isBusy = () => door.count() > 0 || core.liveRuns.size > 0;
      // Answered until then: whoever comes meanwhile could not open the file.
      do {
        await core.endRuns(closing);
        await door.untilNone(isPatient ? undefined : core.stopping);
        await core.drainDeliveries(); // a receiver may be slow; nobody else has to wait for it
        if (!isPatient || isBusy()) continue;
        await door.retire();
        if (isBusy()) await door.advertise();
      } while (core.liveRuns.size > 0 || (isPatient && isBusy()));
      await door.close();
      await core.close(closing);
    },
  };
}

/**
 * Opens the database for a short look: others are not answered, so that nothing of theirs hangs on this process, and
 * nothing waiting is worked off, so that it may end at any moment.
 *
 * @throws {StoreBusyError} another process owns the file
 */
export async function glanceAtDatabase({ say: _, ...options }: OwnOptions): Promise<OwnedDatabase> {
  const core = await openCore({ ...options, isGlance: true });
  return { core, app: createLateApp(core), close: () => core.close() };
}
