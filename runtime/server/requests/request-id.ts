/** Ids by which clients and logs know a request. */

/** Header, and metadata of gRPC, that has the id and repeats it. */
export const REQUEST_ID = "x-request-id";

/** What a header can say and a log can hold; other ids are as if there were none. */
const ID = /^[\x21-\x7e]{1,128}$/;

/** @param text as the client has it. @returns undefined for what is no id. */
export function requestIdOf(text: unknown): string | undefined {
  return typeof text === "string" && ID.test(text) ? text : undefined;
}
