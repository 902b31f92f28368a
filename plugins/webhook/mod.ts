import { type ChannelKit, fromBase64, toBase64 } from "../../src/delivery/channels/mod.ts";

const NO_SECRET = "must be whsec_ and the base64 of 24 to 64 random bytes, as " +
  '`echo "whsec_$(openssl rand -base64 32)"` makes one';

/**
 * POSTs JSON, signed by the Standard Webhooks specification (standardwebhooks.com) if there is a secret.
 * Its `webhook-id` is the same in every attempt.
 */
export default ({ defineChannel, z, httpUrl, httpResult, toJson }: ChannelKit) => {
  const secret = z.string().refine(isSecret, NO_SECRET).meta({ secret: true });
  const header = z.string()
    .refine(isHeaderName, "is not a valid header name")
    .refine((name) => !isReserved(name), "is a header that Purser sets itself");
  return defineChannel({
    kind: "webhook",
    summary: "POSTs JSON to an address, signed by the Standard Webhooks specification",
    settings: z.object({
      url: httpUrl.meta({ secret: "url" }).describe(
        "The URL to POST to, `http://` or `https://`, without user and password",
      ),
      secret: secret.optional().describe("Signs the request; `whsec_` and base64 of 24 to 64 bytes"),
      secrets: z.array(secret).min(1).max(10).optional()
        .describe("Up to ten instead of one, during a rotation: each signs"),
      headers: z.record(
        header,
        z.string().refine(isHeaderValue, "is not a valid header value").meta({ secret: true }),
      )
        .optional().describe(
          "Further headers, such as `authorization`; not those of the transport, nor `webhook-…`",
        ),
    }).refine(({ secret, secrets }) => secret === undefined || secrets === undefined, {
      path: ["secrets"],
      error: "cannot be combined with secret; use one of them",
    }),
    async open({ url, secret, secrets = secret ? [secret] : [], headers = {} }, { postJson, now }) {
      const keys = await Promise.all(secrets.map(importSecret));
      return {
        async send({ id, type, isTest, severity, title, at, environment, data }, { deliveryId, signal }) {
          const body = toJson({
            type,
            timestamp: at,
            data: { ...data, id, title, severity, environment, test: isTest },
          });
          // The time of the attempt, not of the event: receivers reject requests older than five minutes.
          const timestamp = Math.floor(now() / 1000);
          const signature = await sign({ id: deliveryId, timestamp, body, keys });
          const answer = await postJson({
            url,
            body,
            signal,
            headers: {
              ...headers,
              "webhook-id": deliveryId,
              "webhook-timestamp": String(timestamp),
              ...(signature && { "webhook-signature": signature }),
            },
          });
          return httpResult(answer, now());
        },
      };
    },
  });
};

/** Headers of the transport. */
const RESERVED = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Returns true for a header that Purser sets itself. */
function isReserved(name: string): boolean {
  return RESERVED.has(name.toLowerCase()) || name.toLowerCase().startsWith("webhook-");
}

/** Returns true for a token (RFC 9110, 5.6.2). */
function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name);
}

/** Returns true for a line of printable ASCII, which every receiver reads the same way. */
function isHeaderValue(value: string): boolean {
  return /^[\x20-\x7e]{1,4000}$/.test(value);
}

const PREFIX = "whsec_";

/** Returns true for a secret of Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. */
export function isSecret(text: string): boolean {
  const length = text.startsWith(PREFIX) ? decode(text)?.length : undefined;
  return length !== undefined && length >= 24 && length <= 64;
}

/** Imports a secret that `isSecret` as a key. */
export async function importSecret(secret: string): Promise<CryptoKey> {
  const bytes = decode(secret) ?? new Uint8Array();
  return await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

/**
 * Returns the value of `webhook-signature`: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`, once for each
 * key, separated by spaces, so that receivers can rotate theirs. Empty without keys.
 */
export async function sign(
  input: { id: string; timestamp: number; body: string; keys: readonly CryptoKey[] },
): Promise<string> {
  const signed = new TextEncoder().encode(`${input.id}.${input.timestamp}.${input.body}`);
  const signatures = input.keys.map(async (key) =>
    `v1,${toBase64(new Uint8Array(await crypto.subtle.sign("HMAC", key, signed)))}`
  );
  return (await Promise.all(signatures)).join(" ");
}

function decode(secret: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return fromBase64(secret.slice(PREFIX.length));
  } catch {
    return undefined; // not base64
  }
}
