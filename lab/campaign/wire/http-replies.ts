/**
 * A small strict reader of HTTP/1.1 replies: an independent judge of what a server sends, which
 * forgives nothing.
 */

export interface Reply {
  readonly status: number;
  /** By lower-case name; a field that comes twice is an error. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]+$/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)$/;
const ABOUT = 60;

/**
 * Final replies of a whole connection; interim ones (1xx) are read and left out.
 * @param isHead whether the request in that place asks for a header alone; undefined if unknown.
 * @throws Error that says what is not as it has to be.
 */
export function repliesOf(bytes: Buffer, isHead: (index: number) => boolean | undefined): Reply[] {
  const replies: Reply[] = [];
  let at = 0;
  while (at < bytes.length) {
    const { status, headers, end } = headOf(bytes, at);
    at = end;
    if (status < 200) continue;
    const length = lengthOf(headers);
    const mayBeHead = isHead(replies.length);
    const isBodiless = mayBeHead ?? isAtReply(bytes, at);
    if (isBodiless) replies.push({ status, headers, body: "" });
    else {
      if (at + length > bytes.length) {
        throw new Error(`a body of ${length} bytes has ${bytes.length - at}`);
      }
      replies.push({ status, headers, body: bytes.toString("utf8", at, at + length) });
      at += length;
    }
  }
  return replies;
}

/** @returns what is wrong with a reply that is one by its form; undefined if nothing is. */
export function complaintOf({ status, headers, body }: Reply, isBodiless: boolean) {
  if (status < 400 || isBodiless) return undefined;
  if (headers.get("content-type") !== "application/json") return `${status} without JSON`;
  const { error } = JSON.parse(body) as { readonly error?: unknown };
  if (typeof error !== "string" || error.length === 0) return `${status} without a reason: ${body}`;
  if (error.length > 1100) return `${status} with a reason of ${error.length} characters`;
  return /\p{Cc}/u.test(error) ? `${status} with a control character: ${body}` : undefined;
}

function headOf(bytes: Buffer, start: number) {
  const end = bytes.indexOf("\r\n\r\n", start);
  if (end < 0) throw new Error(`a header without an end: ${shown(bytes, start)}`);
  const [statusLine = "", ...lines] = bytes.toString("latin1", start, end).split("\r\n");
  const status = Number(STATUS_LINE.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error(`no status line: ${shown(bytes, start)}`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = "", value = ""] = FIELD.exec(line) ?? [];
    if (name === "") throw new Error(`no field of a header: ${line}`);
    if (headers.has(name.toLowerCase())) throw new Error(`the field ${name} comes twice`);
    headers.set(name.toLowerCase(), value);
  }
  return { status, headers, end: end + 4 };
}

/** Every reply of this server states its length. */
function lengthOf(headers: ReadonlyMap<string, string>): number {
  const length = headers.get("content-length") ?? "";
  if (!/^\d+$/.test(length)) throw new Error(`content-length: got "${length}"`);
  if (headers.has("transfer-encoding")) throw new Error("a length and a transfer-encoding");
  return Number(length);
}

function isAtReply(bytes: Buffer, at: number): boolean {
  return at === bytes.length || bytes.toString("latin1", at, at + 9) === "HTTP/1.1 ";
}

function shown(bytes: Buffer, start: number): string {
  return JSON.stringify(bytes.toString("latin1", start, start + ABOUT));
}
