/** Limits per client: requests per second, and concurrent requests. */
import { isIPv6 } from "node:net";
import { HttpError } from "../connections/http-error.ts";

export interface ClientLimitOptions {
  /** Requests per second. Default: no limit. */
  readonly rateQps?: number | undefined;
  /** Requests that may arrive at once after a pause. Default: those of one second. */
  readonly burst?: number | undefined;
  /** Maximum number of unanswered requests. Default: no limit. */
  readonly concurrency?: number | undefined;
}

export type ClientRefusal = "client_rate" | "client_concurrency";

/** Maximum number of clients whose rate is remembered; the least recently active are forgotten. */
const MAX_CLIENTS = 16_384;

interface Bucket {
  /** Requests that the client may still send. */
  left: number;
  atMs: number;
}

export class ClientLimits {
  readonly #rateQps: number;
  readonly #burst: number;
  readonly #concurrency: number;
  readonly #nowMs: () => number;
  /** Least recently active clients first. */
  readonly #buckets = new Map<string, Bucket>();
  /** Number of unanswered requests per client; clients without any have no entry. */
  readonly #inFlight = new Map<string, number>();

  /** @param nowMs monotonic clock. */
  constructor({ rateQps, burst, concurrency }: ClientLimitOptions, nowMs: () => number) {
    this.#rateQps = rateQps ?? Number.POSITIVE_INFINITY;
    this.#burst = burst ?? Math.max(1, this.#rateQps);
    this.#concurrency = concurrency ?? Number.POSITIVE_INFINITY;
    this.#nowMs = nowMs;
  }

  get isOff(): boolean {
    return this.#rateQps === Number.POSITIVE_INFINITY && !this.#countsFlight;
  }

  /** Number of clients whose rate is remembered. */
  get clientCount(): number {
    return this.#buckets.size;
  }

  get #countsFlight(): boolean {
    return this.#concurrency < Number.POSITIVE_INFINITY;
  }

  /**
   * Admits or rejects a request of the client. `leave` must follow where nothing is returned.
   * @param onRefused called with the limit that was exceeded.
   */
  enter(client: string, onRefused: (reason: ClientRefusal) => void): HttpError | undefined {
    const inFlight = this.#inFlight.get(client) ?? 0;
    if (inFlight >= this.#concurrency) {
      onRefused("client_concurrency");
      const most = `a client may have at most ${this.#concurrency} unanswered ones`;
      return new HttpError(429, `too many requests: ${most}`, { "retry-after": "1" });
    }
    const waitS = this.#takenOf(client);
    if (waitS > 0) {
      onRefused("client_rate");
      const most = `a client may send ${this.#rateQps} per second`;
      const after = { "retry-after": String(Math.max(1, Math.ceil(waitS))) };
      return new HttpError(429, `too many requests: ${most}`, after);
    }
    if (this.#countsFlight) this.#inFlight.set(client, inFlight + 1);
    return undefined;
  }

  leave(client: string): void {
    if (!this.#countsFlight) return;
    const inFlight = this.#inFlight.get(client) ?? 0;
    if (inFlight > 1) this.#inFlight.set(client, inFlight - 1);
    else this.#inFlight.delete(client);
  }

  /**
   * Takes one request from the client's bucket. @returns seconds until the next one is allowed, or
   * 0.
   */
  #takenOf(client: string): number {
    if (this.#rateQps === Number.POSITIVE_INFINITY) return 0;
    const nowMs = this.#nowMs();
    const bucket = this.#buckets.get(client) ?? { left: this.#burst, atMs: nowMs };
    const gained = ((nowMs - bucket.atMs) * this.#rateQps) / 1000;
    bucket.left = Math.min(this.#burst, bucket.left + gained);
    bucket.atMs = nowMs;
    this.#buckets.delete(client);
    this.#buckets.set(client, bucket);
    if (this.#buckets.size > MAX_CLIENTS) {
      for (const oldest of this.#buckets.keys()) {
        this.#buckets.delete(oldest);
        break;
      }
    }
    if (bucket.left < 1) return (1 - bucket.left) / this.#rateQps;
    bucket.left--;
    return 0;
  }
}

const MAPPED = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i;

/**
 * Key of the client behind an address. For IPv6 it is the network, since one host has many
 * addresses.
 */
export function clientOfAddress(address: string | undefined): string {
  if (address === undefined) return "unknown";
  const mapped = MAPPED.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  return isIPv6(address) ? networkOf(address) : address;
}

/** First 64 of the 128 bits. */
function networkOf(address: string): string {
  const [plain = ""] = address.split("%", 1);
  const [before = "", after] = plain.split("::", 2);
  const left = before === "" ? [] : before.split(":");
  const right = after === undefined || after === "" ? [] : after.split(":");
  const zeros = after === undefined ? 0 : 8 - left.length - right.length;
  const groups = [...left, ...Array<string>(Math.max(0, zeros)).fill("0"), ...right];
  const first = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${first.join(":")}::/64`;
}

/** Whether only programs on the same machine can have the address. */
export function isLoopback(host: string | undefined): boolean {
  if (host === undefined) return false;
  const plain = MAPPED.exec(host)?.[1] ?? host;
  return plain === "localhost" || plain === "::1" || /^127(?:\.\d{1,3}){3}$/.test(plain);
}
