import type { Context } from "hono";
import { BODY_CODES, createRoute, headers, json, jsonBody, problems } from "../create_route.ts";
import { SignIn, SignInCode, WebSession } from "../../contract/web_sessions.ts";
import { toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import {
  authenticate,
  createSignInCode,
  createWebSession,
  endWebSession,
  isAuthRequired,
  type Principal,
  readSessionEnd,
  redeemSignInCode,
} from "../../keys/mod.ts";
import type { Core } from "../../service/mod.ts";
import { type ApiEnv, leaseOf, principalOf } from "../middleware/principal.ts";
import { checkOwnPage, sessionCookies, sessionTokenOf } from "../middleware/web_session.ts";
import { createRouter } from "../router.ts";

const get = createRoute({
  method: "get",
  path: "/ui/session",
  scopes: "open",
  operationId: "getWebSession",
  summary: "Get the access of this client: its key's name and scopes, or that it has to sign in",
  tags: ["keys"],
  responses: { 200: json(WebSession, "The access"), ...problems() },
});

const signIn = createRoute({
  method: "post",
  path: "/ui/session",
  scopes: "open",
  operationId: "createWebSession",
  summary: "Sign in to the dashboard with an API key or a one-time code",
  description:
    "Sets a cookie that the page's script can't read. The session has the permissions of the key and ends with it, after 12 " +
    "hours without use, and after 7 days.",
  tags: ["keys"],
  request: { body: jsonBody(SignIn, { api_key: "psr_…" }) },
  responses: {
    200: { ...json(WebSession, "The access"), headers: headers("Set-Cookie") },
    ...problems("invalid", "conflict", "unauthorized", ...BODY_CODES),
  },
});

const signOut = createRoute({
  method: "delete",
  path: "/ui/session",
  scopes: "open",
  operationId: "endWebSession",
  summary: "Sign out of the dashboard",
  tags: ["keys"],
  responses: {
    204: { description: "Signed out", headers: headers("Set-Cookie") },
    ...problems(...BODY_CODES),
  },
});

const createCode = createRoute({
  method: "post",
  path: "/ui/session/codes",
  scopes: ["read", "run", "call"],
  agentCheck: "handler",
  operationId: "createSignInCode",
  summary: "Create a one-time code that signs a browser in with this API key",
  description:
    "The browser opens `/ui/#code=…`: a fragment is sent to no server. A new code replaces the one before it.",
  tags: ["keys"],
  responses: { 201: json(SignInCode, "The code"), ...problems("conflict", ...BODY_CODES) },
});

type Answered = Pick<Context<ApiEnv>, "env">;

const SIGNED_OUT = { key_id: null, name: null, scopes: [], agent_id: null, expires_at: null };

function signedIn({ keyId, name, scopes, agentId }: Principal, expiresAt: number | undefined): WebSession {
  return {
    access: "signed_in",
    key_id: keyId,
    name: name ?? null,
    scopes: [...scopes],
    agent_id: agentId,
    expires_at: expiresAt === undefined ? null : toIso(expiresAt),
  };
}

export function createRoutes(core: Core) {
  /** Returns the access of a request; within this process, that is of this machine. */
  async function accessOf(c: Answered): Promise<WebSession> {
    const principal = principalOf(c);
    if (!principal) return { access: "keyless", ...SIGNED_OUT };
    if (principal.keyId === null) return { access: "signed_out", ...SIGNED_OUT };
    const { webSession } = principal;
    return signedIn(principal, webSession === undefined ? undefined : await readSessionEnd(core, webSession));
  }

  return createRouter()
    .openapi(get, async (c) => c.json(await accessOf(c), 200))
    .openapi(signIn, async (c) => {
      if (c.req.raw.headers.has("sec-fetch-site")) checkOwnPage(c.req.raw);
      const body = c.req.valid("json");
      if (!await isAuthRequired(core, { isKeyPresented: true })) throw noKeyYet();
      const { token, expiresAt, principal } = "code" in body
        ? await redeemSignInCode(core, body.code)
        : await createWebSession(
          core,
          await authenticate(
            core,
            `Bearer ${body.api_key}`,
            (digest) => leaseOf(c)?.beginAttempt(digest) ?? (() => {}),
          ) as Principal & { keyId: string },
        );
      const seconds = Math.ceil((expiresAt - core.clock.now()) / 1000);
      for (const cookie of sessionCookies(c.req.raw, token, seconds)) {
        c.header("set-cookie", cookie, { append: true });
      }
      return c.json(signedIn(principal, expiresAt), 200);
    })
    .openapi(signOut, async (c) => {
      const token = sessionTokenOf(c.req.raw);
      if (token !== undefined) {
        checkOwnPage(c.req.raw);
        await endWebSession(core, token);
      }
      for (const cookie of sessionCookies(c.req.raw, undefined)) {
        c.header("set-cookie", cookie, { append: true });
      }
      return c.body(null, 204);
    })
    .openapi(createCode, async (c) => {
      const keyId = principalOf(c)?.keyId ?? null;
      if (keyId === null) throw noKeyYet();
      const { code, expiresAt } = await createSignInCode(core, keyId);
      return c.json({ code, expires_at: toIso(expiresAt) }, 201);
    });
}

function noKeyYet(): PurserError {
  return new PurserError(
    "conflict",
    "Cannot sign in: there is no API key yet, and the dashboard needs none on this machine; open /ui/",
  );
}
