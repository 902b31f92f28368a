import type { ApiKey, NewApiKey } from "../../../contract/keys.ts";
import { type Clock, MINUTE_MS, toIso } from "../../../kernel/clock.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { isKeyOfCapture } from "../../../kernel/ids.ts";
import type { CommandContext } from "../../command.ts";
import { readTags } from "../../parse/parse_tags.ts";
import {
  CAPTURED_PROVIDERS,
  type CapturedProvider,
  keyIn,
  providersIn,
  serverEnvironment,
} from "./capture_variables.ts";

/** A server for one command, with the key of it. */
export interface OpenCapture {
  /** The base URL of the server. */
  url: string;
  key: string;
  keyId: string;
  /** The providers whose calls the gateway makes. */
  providers: readonly CapturedProvider[];
  /** Sends a request with the rights of the user, not of the command. */
  send(path: string, init?: RequestBody): Promise<Response>;
  /** Calls back after each call that is booked, or now and then where another process books them. */
  onCall(listener: () => void): void;
  /**
   * Resolves once all calls are booked that pass the gateway, to the number of those that are still under way after half a minute. A
   * server of this process then takes no more.
   */
  end(): Promise<number>;
  close(): Promise<void>;
}

/** The time for which the calls that are under way may go on, once the command has ended. */
const GRACE_MS = 30_000;
/** Its key ends by itself, if nothing revokes it because this process was killed. */
const LEASE_MS = 60 * MINUTE_MS;
/** The interval at which the expiry is put off: each time is a line of the audit log. */
const RENEW_MS = LEASE_MS / 3;
/** The interval at which a server is asked for calls that are under way. */
const LOOK_MS = 200;
/** A server tells nothing by itself: its books are read so often while there is a budget. */
const WATCH_MS = 2_000;

/** Opens a server for a command: that of the settings, or one in this process on a free port. */
export function openCapture(ctx: CommandContext, name: string): Promise<OpenCapture> {
  return ctx.config.server === undefined ? openHere(ctx, name) : openThere(ctx, name, ctx.config.server);
}

async function openHere(
  { config, env, log, secrets, clock, options }: CommandContext,
  name: string,
): Promise<OpenCapture> {
  const [{ openDatabase }, { listen, withAccessCheck }, { createKey }, { endLiveRuns }] = await Promise.all([
    import("../../../client/mod.ts"),
    import("../../../http/server/mod.ts"),
    import("../../../keys/mod.ts"),
    import("../../../sessions/mod.ts"),
  ]);
  refusePurserKeys(env);
  const address = { host: "127.0.0.1", port: 0 };
  const { core, app, close } = await openDatabase({
    config: { ...config, ...address },
    env: serverEnvironment(env),
    log,
    secrets,
    isServer: true,
  });
  try {
    const created = await createKey(core, {
      name,
      scopes: ["call", "report"],
      agentId: null,
      expiresAt: clock.now() + LEASE_MS,
      tags: readTags(options) ?? {},
      isOfCapture: true,
    });
    const server = await listen(core, withAccessCheck(core, app, { needsKey: true }), address);
    const send = async (path: string, init?: RequestBody) => await app.fetch(requestOf(path, init));
    const ended = new AbortController();
    void renewKey(clock, created.key_id, send, ended.signal);
    return {
      url: server.url,
      key: created.key,
      keyId: created.key_id,
      providers: providersIn(env),
      send,
      onCall: (listener) => void core.bookedCalls.subscribe(listener),
      async end() {
        const until = clock.monotonic() + GRACE_MS;
        await server.shutdown({ graceMs: GRACE_MS });
        // A call whose client has left is under way without a request.
        await endLiveRuns({ liveRuns: core.gatewayCalls, clock }, Math.max(0, until - clock.monotonic()));
        return 0;
      },
      close() {
        ended.abort();
        return close({ graceMs: 0 });
      },
    };
  } catch (error) {
    await close({ graceMs: 0 });
    throw error;
  }
}

/** Refuses a shell whose calls go through a gateway of Purser already: each would be booked twice. */
function refusePurserKeys(env: CommandContext["env"]): void {
  const [name] = providersIn(env).filter((name) => keyIn(env, name)!.startsWith("psr_"));
  if (name === undefined) return;
  throw new PurserError(
    "invalid",
    `Cannot capture: the key of ${name} in the environment is one of Purser, whose gateway books the calls already; unset its ` +
      "variables, or name that server with --server",
  );
}

async function openThere(ctx: CommandContext, name: string, url: string): Promise<OpenCapture> {
  const connection = await ctx.connect();
  const { errorOf } = await import("../../../client/mod.ts");
  const send: OpenCapture["send"] = async (path, init) => {
    const answer = await connection.send(requestOf(path, init));
    if (!answer.ok) throw await errorOf(answer);
    return answer;
  };
  const keys = await (await send("/keys?limit=1000")).json() as { key_id: string }[];
  if (keys.every(({ key_id }) => isKeyOfCapture(key_id))) {
    throw new PurserError(
      "forbidden",
      `Cannot capture through ${url}: it has no API key yet, and with that of the command every other client would need one; make ` +
        "one with purser keys add, or leave --server out",
    );
  }
  const expires_at = toIso(ctx.clock.now() + LEASE_MS);
  const json = { name, scopes: ["call", "report"], expires_at, tags: readTags(ctx.options) };
  const created = await (await send("/keys", { method: "POST", json })).json() as NewApiKey;
  const ended = new AbortController();
  void renewKey(ctx.clock, created.key_id, send, ended.signal);
  return {
    url,
    key: created.key,
    keyId: created.key_id,
    providers: CAPTURED_PROVIDERS,
    send,
    onCall(listener) {
      void (async () => {
        while (!ended.signal.aborted) {
          await ctx.clock.sleep(WATCH_MS, ended.signal);
          listener();
        }
      })();
    },
    async end() {
      const until = ctx.clock.monotonic() + GRACE_MS;
      for (;;) {
        const { calls_in_progress: calls = 0 } = await (await send(`/keys/${created.key_id}`))
          .json() as ApiKey;
        if (calls === 0 || ctx.clock.monotonic() > until) return calls;
        await ctx.clock.sleep(LOOK_MS);
      }
    },
    close: () => Promise.resolve(ended.abort()),
  };
}

/** Puts off the expiry of a key again and again, until the signal aborts. */
async function renewKey(
  clock: Clock,
  keyId: string,
  send: OpenCapture["send"],
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(RENEW_MS, signal);
    if (signal.aborted) return;
    const json = { expires_at: toIso(clock.now() + LEASE_MS) };
    // A server that can't be reached is asked again before the key ends.
    await send(`/keys/${keyId}`, { method: "PATCH", json }).catch(() => {});
  }
}

/** The method of a request, and its body. */
interface RequestBody {
  method: string;
  json?: object;
}

function requestOf(path: string, { method, json }: RequestBody = { method: "GET" }): Request {
  const headers = json === undefined ? undefined : { "content-type": "application/json" };
  return new Request(`http://purser.invalid${path}`, { method, headers, body: json && JSON.stringify(json) });
}
