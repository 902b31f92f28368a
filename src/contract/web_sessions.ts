import { z } from "@hono/zod-openapi";
import { Scopes } from "./keys.ts";
import { AgentId, Time } from "./parts.ts";

/** The wire schemas of the dashboard's sessions. */

export const WebSession = z.object({
  access: z.enum(["keyless", "signed_in", "signed_out"]).openapi({
    description:
      "`keyless`: there is no API key yet, and this machine may do everything. `signed_out`: a key is required",
  }),
  key_id: z.string().nullable().openapi({ description: "The key of the session; null unless `signed_in`" }),
  name: z.string().nullable().openapi({ description: "The key's name" }),
  scopes: Scopes,
  agent_id: AgentId.nullable().openapi({ description: "The only agent of the key; null for all" }),
  expires_at: Time.nullable().openapi({
    description: "The end of the session at the latest; null where it has none",
  }),
}).openapi("WebSession");
export type WebSession = z.infer<typeof WebSession>;

export const SignIn = z.union([
  z.strictObject({ api_key: z.string().min(1).max(500) }),
  z.strictObject({ code: z.string().min(1).max(100) }),
]).openapi("SignIn", { description: "An API key, or a one-time code of `POST /ui/session/codes`" });

export const SignInCode = z.object({
  code: z.string().openapi({ description: "Valid once, for 60 seconds" }),
  expires_at: Time,
}).openapi("SignInCode");
export type SignInCode = z.infer<typeof SignInCode>;
