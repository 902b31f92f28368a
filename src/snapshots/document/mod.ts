/** The document of a snapshot: reads, checks and writes it. */
export { DOCUMENT_LISTS } from "./canonical_document.ts";
export { decodeDocument, snapshotTooLarge } from "./decode_document.ts";
export { readDocument, type ReadSnapshot, readSnapshot } from "./read_document.ts";
export { bytesOf, rewriteDocument, writeDocument, writeSnapshot } from "./write_document.ts";
