import type { Context } from "hono";
import type { z } from "../create_route.ts";
import {
  type OtherKey,
  SignIn,
  type SignInCode,
  type StartedWebSession,
  type WebSession,
} from "../../contract/web_sessions.ts";
import { invalidInput } from "../../contract/schema_issues.ts";
import { toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import {
  authenticate,
  createSignInCode,
  createWebSession,
  endWebSession,
  isAuthRequired,
  type NewWebSession,
  type Principal,
  readCodeKey,
  readSessionEnd,
  redeemSignInCode,
} from "../../keys/mod.ts";
import type { Core } from "../../service/mod.ts";
import type { Permission } from "../middleware/permission.ts";
import { type ApiEnv, leaseOf, principalOf } from "../middleware/principal.ts";
import { checkOwnPage, sessionTokenOf } from "../middleware/web_session.ts";
import { createRouter, type Router } from "../router.ts";

const PATH = "/ui/session";
const CODES_PATH = "/ui/session/codes";

/** The sign-in is no operation of the API: a client sends its key, and a session is for the dashboard alone. */
export const permissions: ReadonlyMap<string, Permission> = new Map<string, Permission>([
  [`GET ${PATH}`, { scopes: "open" }],
  [`POST ${PATH}`, { scopes: "open" }],
  [`DELETE ${PATH}`, { scopes: "open" }],
  // A session could be followed by others for ever, beyond its 7 days and signing out.
  [`POST ${CODES_PATH}`, { scopes: ["read", "run", "call"], agentCheck: "handler", needsKey: true }],
]);

type Answered = Pick<Context<ApiEnv>, "env">;

const SIGNED_OUT = { key_id: null, name: null, scopes: [], agent_id: null, expires_at: null };

type Answer = Omit<WebSession, "calendar">;

function signedIn({ keyId, name, scopes, agentId }: Principal, expiresAt: number | undefined): Answer {
  return {
    access: "signed_in",
    key_id: keyId,
    name: name ?? null,
    scopes: [...scopes],
    agent_id: agentId,
    expires_at: expiresAt === undefined ? null : toIso(expiresAt),
  };
}

export function createRoutes(core: Core): Router {
  const { timeZone, weekStart, monthStartDay } = core;
  const calendar = { timeZone, weekStart, monthStartDay };
  /** Returns the access of a request; within this process, that is of this machine. */
  async function accessOf(c: Answered): Promise<Answer> {
    const principal = principalOf(c);
    if (!principal) return { access: "keyless", ...SIGNED_OUT };
    if (principal.keyId === null) return { access: "signed_out", ...SIGNED_OUT };
    const { webSession } = principal;
    return signedIn(principal, webSession === undefined ? undefined : await readSessionEnd(core, webSession));
  }

  const router = createRouter();
  router.get(PATH, async (c) => c.json({ ...await accessOf(c), calendar } satisfies WebSession, 200));
  router.post(PATH, async (c) => {
    checkOwnPage(c.req.raw);
    const body: unknown = await c.req.json().catch((error) => {
      throw error instanceof SyntaxError
        ? new PurserError("invalid", "Cannot read the body: it is not JSON")
        : error;
    });
    const parsed = SignIn.safeParse(body);
    if (!parsed.success) throw invalidInput(parsed.error, "the request");
    if (!await isAuthRequired(core, { isKeyPresented: true })) throw noKeyYet();
    const { token, expiresAt, principal } = await begin(c, parsed.data);
    return c.json({ ...signedIn(principal, expiresAt), calendar, token } satisfies StartedWebSession, 200);
  });
  router.delete(PATH, async (c) => {
    const token = sessionTokenOf(c.req.raw.headers);
    if (token !== undefined) await endWebSession(core, token);
    return c.body(null, 204);
  });

  async function begin(c: Answered, body: z.infer<typeof SignIn>): Promise<NewWebSession> {
    const beginAttempt = (digest: string) => leaseOf(c)?.beginAttempt(digest) ?? (() => {});
    if ("code" in body) {
      const present = principalOf(c);
      if (present?.webSession !== undefined && !body.replace) {
        const { keyId, name } = await readCodeKey(core, body.code, beginAttempt);
        if (keyId !== present.keyId) throw otherKey({ key_id: keyId!, name: name ?? null });
      }
      return await redeemSignInCode(core, body.code, beginAttempt);
    }
    const principal = await authenticate(core, `Bearer ${body.api_key}`, beginAttempt);
    return await createWebSession(core, principal);
  }

  router.post(CODES_PATH, async (c) => {
    const principal = principalOf(c);
    const { keyId = null } = principal ?? {};
    if (!principal || keyId === null) throw noKeyYet();
    const { code, expiresAt } = await createSignInCode(core, keyId);
    return c.json({ code, expires_at: toIso(expiresAt) } satisfies SignInCode, 201);
  });
  return router;
}

/** A link may come from anybody: the browser would read and act under their key without a word. */
function otherKey(details: OtherKey): PurserError {
  return new PurserError(
    "conflict",
    `Cannot sign in as ${
      details.name ?? details.key_id
    }: the browser is signed in with another key; send replace`,
    { details: { ...details } },
  );
}

function noKeyYet(): PurserError {
  return new PurserError(
    "conflict",
    "Cannot sign in: there is no API key yet, and the dashboard needs none on this machine; open /ui/",
  );
}
