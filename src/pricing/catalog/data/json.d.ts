/** A file of prices; a compiler need not infer the type of a megabyte of values. */
declare const data: unknown;
export default data;
