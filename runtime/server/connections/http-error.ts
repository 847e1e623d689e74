/**
 * An answer other than 200, with its reason as JSON; thrown. Not an Error, because an overloaded
 * server must be able to refuse without the cost of a stack trace.
 */
export class HttpError {
  readonly status: number;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    this.status = status;
    this.message = message;
    this.headers = headers;
  }
}

/** For what may well be answered if it is asked again. */
export const RETRY_LATER = { "retry-after": "1" };
/** For what must end the connection: what follows on it cannot be told from what was refused. */
export const CLOSE = { connection: "close" };

/** UTF-16 units of a reason; it may repeat what the client sent, which has no such limit. */
const LONGEST_REASON = 1000;
/** Control and format characters, halves of surrogates, separators of lines and paragraphs. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A reason as clients get it: cut, and with no character that a terminal or a log would obey. */
export function reasonText(message: string): string {
  const cut = message.length > LONGEST_REASON ? `${message.slice(0, LONGEST_REASON)}…` : message;
  return cut.replace(/\s+/g, " ").replace(UNPRINTABLE, "\ufffd");
}

/** @param id of the request; left out where the client does not ask for it. */
export function reasonJson(message: string, id?: string): string {
  const error = reasonText(message);
  return JSON.stringify(id === undefined ? { error } : { error, id });
}
