import { Buffer } from "node:buffer";
import { generateKeyPairSync, sign } from "node:crypto";

/** The key of a libSQL server, and the tokens that it accepts: JSON Web Tokens with Ed25519. */
export function makeSqldKey(): { key: string; tokenFor(claims: object): string } {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  return {
    key: publicKey.export({ format: "jwk" }).x!,
    tokenFor(claims) {
      const signed = `${encode({ alg: "EdDSA", typ: "JWT" })}.${encode(claims)}`;
      return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString("base64url")}`;
    },
  };
}
