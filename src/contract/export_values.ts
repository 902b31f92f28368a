/*
 * The values of exports that commands list in their help. Without zod, which commands don't load.
 */

/** The versions of FOCUS, the FinOps Open Cost and Usage Specification, in which charges are exported. */
export const FOCUS_VERSIONS = ["1.2", "1.4"] as const;
export type FocusVersion = typeof FOCUS_VERSIONS[number];
export const DEFAULT_FOCUS_VERSION: FocusVersion = "1.4";

/** The formats of exported files. */
export const EXPORT_FORMATS = ["csv", "parquet"] as const;
export type ExportFormat = typeof EXPORT_FORMATS[number];

/** The ways to divide the costs that no call has caused, such as fees. */
export const SHARED_RULES = ["by-share", "even", "none"] as const;
export type SharedRule = typeof SHARED_RULES[number];

/** The formats of a statement. */
export const STATEMENT_FORMATS = ["csv", "json", "html"] as const;
