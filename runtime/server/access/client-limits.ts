/** How much one client may ask: requests a second, and requests at a time. */
import { isIPv6 } from "node:net";
import { HttpError } from "../connections/http-error.ts";

export interface ClientLimitOptions {
  /** Requests a second; left out for no limit. */
  readonly rateQps?: number | undefined;
  /** Requests at once, after a pause; left out for those of a second. */
  readonly burst?: number | undefined;
  /** Requests that wait for answers; left out for no limit. */
  readonly concurrency?: number | undefined;
}

export type ClientRefusal = "client_rate" | "client_concurrency";

/** Clients whose rate is remembered; of more, those that asked longest ago are forgotten. */
const MAX_CLIENTS = 16_384;

interface Bucket {
  /** Requests that may still come. */
  left: number;
  atMs: number;
}

export class ClientLimits {
  readonly #rateQps: number;
  readonly #burst: number;
  readonly #concurrency: number;
  readonly #nowMs: () => number;
  /** Those that have not asked for longest come first. */
  readonly #buckets = new Map<string, Bucket>();
  /** Requests that wait for answers, of clients that have any. */
  readonly #inFlight = new Map<string, number>();

  /** @param nowMs a clock that does not go back. */
  constructor({ rateQps, burst, concurrency }: ClientLimitOptions, nowMs: () => number) {
    this.#rateQps = rateQps ?? Number.POSITIVE_INFINITY;
    this.#burst = burst ?? Math.max(1, this.#rateQps);
    this.#concurrency = concurrency ?? Number.POSITIVE_INFINITY;
    this.#nowMs = nowMs;
  }

  get isOff(): boolean {
    return this.#rateQps === Number.POSITIVE_INFINITY && !this.#countsFlight;
  }

  /** Clients whose rate is remembered. */
  get clientCount(): number {
    return this.#buckets.size;
  }

  get #countsFlight(): boolean {
    return this.#concurrency < Number.POSITIVE_INFINITY;
  }

  /**
   * A client asks. Where nothing is returned it may, and `leave` has to follow.
   * @param onRefused told which limit it was.
   */
  enter(client: string, onRefused: (reason: ClientRefusal) => void): HttpError | undefined {
    const inFlight = this.#inFlight.get(client) ?? 0;
    if (inFlight >= this.#concurrency) {
      onRefused("client_concurrency");
      const most = `at most ${this.#concurrency} of a client may wait for answers`;
      return new HttpError(429, `too many requests: ${most}`, { "retry-after": "1" });
    }
    const waitS = this.#takenOf(client);
    if (waitS > 0) {
      onRefused("client_rate");
      const most = `a client may send ${this.#rateQps} a second`;
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

  /** Takes one request of what the client has left. @returns seconds until it has one, or 0. */
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

/** What stands for the client of an address: of IPv6 the network, for a host has many addresses. */
export function clientOfAddress(address: string | undefined): string {
  if (address === undefined) return "unknown";
  const mapped = MAPPED.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  return isIPv6(address) ? networkOf(address) : address;
}

/** The first 64 of 128 bits. */
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

/** Whether only programs of the same machine are at such an address. */
export function isLoopback(host: string | undefined): boolean {
  if (host === undefined) return false;
  const plain = MAPPED.exec(host)?.[1] ?? host;
  return plain === "localhost" || plain === "::1" || /^127(?:\.\d{1,3}){3}$/.test(plain);
}
