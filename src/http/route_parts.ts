import { createRoute, type RouteConfig, z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import { STATUS } from "../errors.ts";
import { Problem } from "./schemas.ts";

/** A JSON answer in a route's definition. */
export function json<Schema extends ZodType>(schema: Schema, description: string) {
  return { description, content: { "application/json": { schema } } };
}

/** A required JSON body in a route's definition. */
export function jsonBody<Schema extends ZodType>(schema: Schema) {
  return { required: true, content: { "application/json": { schema } } };
}

const DESCRIPTIONS: Record<number, string> = {
  400: "Something in the request is wrong; `details.issues` names it",
  402: "The run's budget is reached",
  403: "Not allowed from there",
  404: "There is no such thing",
  405: "The path has no such method",
  409: "It contradicts what is there",
  413: "The body is too large",
  415: "The body is not application/json",
  500: "A fault of the server",
  501: "Not possible where this server runs",
  502: "The model's provider failed",
  503: "The database can't be reached",
};

/** Problem answers by error code, beside those that every route can give. */
export function problems(...codes: (keyof typeof STATUS)[]): RouteConfig["responses"] {
  const all = [...codes, "forbidden", "internal", "unavailable"] as const;
  return Object.fromEntries(all.map((code) => [
    STATUS[code],
    {
      description: DESCRIPTIONS[STATUS[code]] ?? code,
      content: { "application/problem+json": { schema: Problem } },
    },
  ]));
}

/** A whole number of a query, in digits: `Number` would also take `1e3`, `0x10` and an empty text. */
export function wholeNumber({ min, max }: { min: number; max: number }) {
  const digits = (value: unknown) =>
    typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  const rule = `must be a whole number from ${min} to ${max}`;
  return z.preprocess(digits, z.number(rule).int(rule).min(min, rule).max(max, rule));
}

/** The `limit` and `cursor` of a list that comes in pages. */
export const pageQuery = (defaultLimit: number, maxLimit: number) => ({
  limit: wholeNumber({ min: 1, max: maxLimit }).default(defaultLimit).openapi({
    type: "integer",
    minimum: 1,
    maximum: maxLimit,
    description: `How many at most, 1 to ${maxLimit}`,
  }),
  cursor: z.string().optional().openapi({ description: "From the `Link` header of the page before" }),
});

export { createRoute, z };
