/** Statements of a month's costs, by which people are charged. */
export { renderStatementCsv } from "./render_csv.ts";
export { renderStatementHtml } from "./render_html.ts";
export { draftStatement, findStatement, issueStatement } from "./statements.ts";
