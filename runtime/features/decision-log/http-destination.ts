/** Decision log that is posted to a URL, in gzipped batches of lines. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import {
  causeOf,
  firstBytes,
  type HttpAnswer,
  openHttp,
  retryAfterMs,
} from "../../base/http-client.ts";
import { type Delivery, type LogDestination, TAKEN } from "./log-destination.ts";

const TIMEOUT_MS = 10_000;
/** Limit of a response's body, which is not used. */
const MAX_ANSWER_BYTES = 2 ** 16;
/** Statuses below 500 after which the same batch may be accepted later. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429]);

export class HttpDestination implements LogDestination {
  /** The URL without its credentials. */
  readonly name: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;

  /**
   * @param url may have a name and password for basic authentication.
   * @param token for `Authorization: Bearer`, in place of them. @param timeoutMs limit of a batch.
   */
  constructor(url: URL, token?: string, timeoutMs = TIMEOUT_MS) {
    const bare = new URL(url);
    const { username, password } = url;
    bare.username = "";
    bare.password = "";
    this.name = bare.href;
    this.#timeoutMs = timeoutMs;
    this.#headers = {
      "content-type": "application/x-ndjson",
      "content-encoding": "gzip",
      ...authorization(username, password, token),
    };
  }

  async send(text: string, signal: AbortSignal): Promise<Delivery> {
    try {
      const answer = await openHttp(this.name, {
        method: "POST",
        maxRedirects: 0,
        headers: this.#headers,
        body: await promisify(gzip)(text),
        timeoutMs: this.#timeoutMs,
        signal,
      });
      await firstBytes(answer.body, MAX_ANSWER_BYTES);
      return deliveryOf(answer);
    } catch (error) {
      return { kind: "away", reason: causeOf(error) };
    }
  }
}

function deliveryOf({ status, headers }: HttpAnswer): Delivery {
  if (status >= 200 && status < 300) return TAKEN;
  const reason = `the receiver answered ${status}`;
  if (status < 500 && !LATER.has(status)) return { kind: "refused", reason };
  const waitMs = retryAfterMs(headers);
  return { kind: "away", reason, ...(waitMs === null ? {} : { waitMs }) };
}

function authorization(
  username: string,
  password: string,
  token: string | undefined,
): Readonly<Record<string, string>> {
  if (token !== undefined) return { authorization: `Bearer ${token}` };
  if (username === "" && password === "") return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}
