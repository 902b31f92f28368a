import { isMainThread, type MessagePort, parentPort, Worker, workerData } from "node:worker_threads";
import type { Sighting } from "../../../calls/mod.ts";
import type { Config, Environment } from "../../../config/mod.ts";
import type { BookedSightings } from "../../../ingest/import/mod.ts";
import { type ErrorCode, type ErrorDetails, messageOf, PurserError } from "../../../kernel/errors.ts";
import type { Log, LogFields } from "../../../kernel/log.ts";
import type { CommandContext } from "../../command.ts";
import type { ImportOrigin } from "./import_books.ts";

/** The data that a thread is started with. Another thread that loads this module, such as a test's, has no such data. */
interface ThreadData {
  purserBooks: { config: Config; env: Environment; origin: ImportOrigin };
}

/** Makes a thread close its database and end. */
const END = "end";

/** An error as a thread sends it: its class would be lost. */
interface SentError {
  message: string;
  code?: ErrorCode;
  details?: ErrorDetails;
}

type Answer = { booked: BookedSightings | null } | { error: SentError } | {
  log: { level: keyof Log; message: string; fields?: LogFields };
};

/**
 * V8 lets a heap without a limit grow to several times of what is in use; smaller limits cost more time than they save memory. A
 * set of sightings takes a few megabytes; logs, which may be large, are read by the thread that has started this one.
 */
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 48 };

/** A thread that books one set of sightings after the other, while the next one is read. */
export interface BookThread extends AsyncDisposable {
  book(sightings: readonly Sighting[]): Promise<BookedSightings>;
}

/** Starts a thread with a connection of its own to the database. */
export function startBookThread(
  { config, env, log }: Pick<CommandContext, "config" | "env" | "log">,
  origin: ImportOrigin,
): BookThread {
  const data: ThreadData = { purserBooks: { config, env, origin } };
  const worker = new Worker(new URL(import.meta.url), { workerData: data, resourceLimits: LIMITS });
  let asked: PromiseWithResolvers<BookedSightings | null> | undefined;
  let failure: Error | undefined;
  const end = (cause?: unknown) => {
    failure = new PurserError("unavailable", "Cannot book the calls: the thread that books them has ended", {
      cause,
    });
    asked?.reject(failure);
  };
  worker.on("message", (answer: Answer) => {
    if ("log" in answer) log[answer.log.level](answer.log.message, answer.log.fields);
    else if ("booked" in answer) asked?.resolve(answer.booked);
    else asked?.reject(toError(answer.error));
  }).on("error", end).on("exit", () => end());

  async function ask(message: readonly Sighting[] | typeof END): Promise<BookedSightings | null> {
    if (failure) throw failure;
    asked = Promise.withResolvers();
    worker.postMessage(message);
    return await asked.promise;
  }

  return {
    book: async (sightings) => (await ask(sightings))!,
    async [Symbol.asyncDispose]() {
      if (!failure) await ask(END);
      await worker.terminate();
    },
  };
}

function toError({ message, code, details }: SentError): Error {
  return code === undefined ? new Error(message) : new PurserError(code, message, { details });
}

/** The work of a thread. */
async function serveBookings({ config, env, origin }: ThreadData["purserBooks"], port: MessagePort) {
  const [{ connect }, { createImportBooks }] = await Promise.all([
    import("../../../client/mod.ts"),
    import("./import_books.ts"),
  ]);
  const post = (answer: Answer) => port.postMessage(answer);
  const at = (level: keyof Log) => (message: string, fields?: LogFields) =>
    post({ log: { level, message, fields } });
  const log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const connecting = connect({ config, env, log });
  connecting.catch(() => {}); // the answer to each set
  port.on("message", async (message: readonly Sighting[] | typeof END) => {
    try {
      if (message !== END) {
        return post({ booked: await createImportBooks(await connecting, origin).book(message) });
      }
      await (await connecting.catch(() => undefined))?.close();
      post({ booked: null });
    } catch (error) {
      const { code, details } = error instanceof PurserError ? error : {};
      post({ error: { message: messageOf(error), code, details } });
    }
  });
}

const data = workerData as Partial<ThreadData> | null;
if (!isMainThread && parentPort && data?.purserBooks !== undefined) {
  await serveBookings(data.purserBooks, parentPort);
}
