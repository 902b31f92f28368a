/**
 * A character that is no control character, in a form that the regular expressions of every language know. They
 * differ in `\p{…}`, in flags and in what a character is, and a published schema is read by all of them.
 */
export const PRINTABLE = "[^\\x00-\\x1f\\x7f-\\x9f]";

/**
 * What a name that people see may be: 1 to 200 characters, no control characters, no lone surrogates. Not every
 * way to the database keeps those as they are.
 */
export const LABEL_PATTERN = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

/** The same for a JSON Schema. A lone surrogate can't be in JSON that is UTF-8. */
export const LABEL_SCHEMA = { minLength: 1, maxLength: 200, pattern: `^${PRINTABLE}*$` } as const;
