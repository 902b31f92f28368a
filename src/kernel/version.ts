/** Purser's version, as in `deno.json`; a test compares them. */
export const VERSION = "0.1.0";

/** The release that a build is. One that isn't published is none: it knows of no newer one. */
export interface Release {
  /** The way in which it is installed. */
  kind: "npm" | "bundle" | "binary" | "image";
  /** The address of the repository that it is published from. */
  repository: string;
}
