import { AwsClient } from "aws4fetch";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { escapeText } from "../../../kernel/text.ts";
import type { ExportTarget, TargetContext } from "./export_target.ts";

/** The longest that one request takes; a file has at most some tens of megabytes. */
const TIMEOUT_MS = 60_000;

/** The waits before a request is repeated, after an answer or the lack of one that passes by itself. */
const RETRY_AFTER_MS = [500, 2_000, 8_000];

const PASSING = new Set([408, 429, 500, 502, 503, 504]);

/**
 * Opens a prefix of a bucket, by the variables of AWS's own tools: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`,
 * `AWS_REGION`, and `AWS_ENDPOINT_URL_S3` for another service than AWS. Requests are signed by Signature Version 4, with the hash of
 * their body, so that the service refuses what has arrived otherwise.
 *
 * @throws {PurserError} `invalid` where the address or a credential is missing
 */
export function openBucket({ env, clock, fetch }: TargetContext, to: string): ExportTarget {
  const [, bucket, prefix = ""] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/?$/.exec(to) ?? [];
  if (bucket === undefined) {
    throw new PurserError("invalid", `Cannot export to ${to}: it is not of the form s3://BUCKET/PREFIX`);
  }
  const missing = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].find((name) => !env[name]);
  if (missing) {
    throw new PurserError("invalid", `Cannot export to ${to}: the environment has no ${missing}; set it`);
  }
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || "us-east-1";
  const endpoint = env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL;
  // With a dot in its name, a bucket has no valid certificate of its own; other services know buckets by path.
  const base = endpoint
    ? `${endpoint.replace(/\/+$/, "")}/${bucket}`
    : bucket.includes(".")
    ? `https://s3.${region}.amazonaws.com/${bucket}`
    : `https://${bucket}.s3.${region}.amazonaws.com`;
  const client = new AwsClient({
    accessKeyId: env.AWS_ACCESS_KEY_ID!,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY!,
    sessionToken: env.AWS_SESSION_TOKEN,
    service: "s3",
    region,
  });

  async function send(method: string, name: string, body?: Uint8Array<ArrayBuffer>, sha256 = EMPTY_SHA256) {
    const url = `${base}/${[...prefix.split("/").filter(Boolean), name].map(encodeURIComponent).join("/")}`;
    for (let attempt = 0;; attempt++) {
      const wait = RETRY_AFTER_MS[attempt];
      const ended = new AbortController();
      const late = new AbortController();
      clock.sleep(TIMEOUT_MS, ended.signal).then(() => late.abort());
      let said: string;
      try {
        const datetime = new Date(clock.now()).toISOString().replace(/[:-]|\.\d{3}/g, "");
        const signed = await client.sign(url, {
          method,
          body,
          headers: { "x-amz-content-sha256": sha256 },
          aws: { datetime },
        });
        const response = await fetch(signed, { signal: late.signal, redirect: "manual" });
        const text = await response.text();
        if (response.ok) return text;
        if (response.status === 404 && method !== "PUT" && !text.includes("NoSuchBucket")) return undefined;
        said = describe(response.status, text);
        if (!PASSING.has(response.status)) throw new PurserError("unavailable", fault(name, said));
      } catch (error) {
        if (error instanceof PurserError) throw error;
        said = late.signal.aborted ? `no answer within ${TIMEOUT_MS / 1_000} s` : messageOf(error);
      } finally {
        ended.abort();
      }
      if (wait === undefined) throw new PurserError("unavailable", fault(name, said));
      await clock.sleep(wait);
    }
  }
  const fault = (name: string, said: string) => `Cannot export to ${to}: ${name}: ${said}`;

  return {
    where: to,
    readText: (name) => send("GET", name),
    put: async (name, bytes, sha256) => void await send("PUT", name, bytes, sha256),
    remove: async (name) => void await send("DELETE", name),
  };
}

const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** Returns what an answer of S3 says: the code and message of its XML. */
function describe(status: number, text: string): string {
  const field = (name: string) => new RegExp(`<${name}>([^<]{1,300})</${name}>`).exec(text)?.[1];
  const said = [field("Code"), field("Message")].filter(Boolean).join(": ");
  return `it answered ${status}${said ? `, ${escapeText(said)}` : ""}`;
}
