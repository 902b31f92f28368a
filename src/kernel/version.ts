/** Purser's version, as in `deno.json`; a test compares them. */
export const VERSION = "0.1.0";

/** The published release of a build. A build that isn't published has none, and looks for no newer one. */
export interface Release {
  /** The way in which it is installed. */
  kind: "npm" | "bundle" | "binary" | "image";
  /** The address of the repository that it is published from. */
  repository: string;
}
