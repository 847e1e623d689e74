/**
 * A client of several front ends: sends when it is due, asks another front end where one fails, and
 * knows of every request what became of it.
 */
import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { present } from "../harness/numbers.ts";
import { markRow } from "./marked-rows.ts";

export interface Template {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Of the row's first byte in the body. */
  readonly rowStart: number;
}

/** What became of a request: `lost` had no answer of any kind from anybody. */
export type Fate = "answered" | "refused" | "lost";

export interface AskedRequest {
  /** Of `performance.now()`. */
  readonly sentMs: number;
  readonly latencyMs: number;
  readonly fate: Fate;
  /** The number of each attempt, which its row carries. */
  readonly attempts: readonly number[];
}

interface FrontEnd {
  readonly url: string;
  readonly agent: Agent;
  /** Since when it is left out, ms; undefined while it is asked. */
  awaySinceMs: number | undefined;
}

/** Attempts of one request at most. */
const ATTEMPTS = 4;
/** An attempt is given up after so long. */
const PATIENCE_MS = 1000;
/** A front end that failed is asked whether it is ready, so often and with so much patience. */
const PROBE_MS = 250;
const REFUSED = new Set([429, 503]);

export class RetryingClient {
  readonly #template: Template;
  readonly #frontEnds: readonly FrontEnd[];
  readonly #rng: Rng;
  readonly #asked: AskedRequest[] = [];
  #running: Promise<void> | undefined;
  #isOver = false;
  #turn = 0;
  #number: number;
  readonly #open = new Set<Promise<void>>();
  /** Attempts that somebody refused, and that nobody answered. */
  readonly failed = { refused: 0, broken: 0, timedOut: 0 };

  /** @param from the seed of its arrivals, and the number behind which those of attempts begin. */
  constructor(
    template: Template,
    urls: readonly string[],
    from: { readonly seed: number; readonly firstNumber: number },
  ) {
    this.#template = template;
    this.#rng = new Rng(from.seed, 0);
    this.#number = from.firstNumber;
    this.#frontEnds = urls.map((url) => ({
      url,
      agent: new Agent({ keepAlive: true, maxSockets: 256 }),
      awaySinceMs: undefined,
    }));
  }

  start(qps: number): void {
    this.#running = Promise.all([this.#send(qps), this.#probe()]).then(() => {});
  }

  /** All that was asked so far and is over. */
  get asked(): readonly AskedRequest[] {
    return this.#asked;
  }

  /** The number of the last attempt. */
  get lastNumber(): number {
    return this.#number;
  }

  /** Sends no more, and waits for what is on its way. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await Promise.all(this.#open);
    for (const { agent } of this.#frontEnds) agent.destroy();
  }

  async #send(qps: number): Promise<void> {
    let dueMs = performance.now();
    while (!this.#isOver) {
      dueMs -= (1000 / qps) * Math.log(1 - this.#rng.nextFloat());
      await pause(Math.max(0, dueMs - performance.now()));
      const asking: Promise<void> = this.#ask(dueMs).finally(() => this.#open.delete(asking));
      this.#open.add(asking);
    }
  }

  async #ask(sentMs: number): Promise<void> {
    const attempts: number[] = [];
    let fate: Fate = "lost";
    let last: FrontEnd | undefined;
    while (attempts.length < ATTEMPTS && fate !== "answered") {
      last = this.#next(last);
      const number = ++this.#number;
      attempts.push(number);
      const status = await this.#attempt(last, number);
      if (status === 200) fate = "answered";
      else if (status !== null) fate = "refused";
      if (status !== 200 && attempts.length < ATTEMPTS) await pause(10 * attempts.length);
    }
    const latencyMs = performance.now() - sentMs;
    this.#asked.push({ sentMs, latencyMs, fate, attempts });
  }

  /** In turn, of those that are there; of all where none is. Another one than failed, if it may. */
  #next(failed: FrontEnd | undefined): FrontEnd {
    const there = this.#frontEnds.filter(({ awaySinceMs }) => awaySinceMs === undefined);
    const among = there.length > 0 ? there : this.#frontEnds;
    const others = among.filter((one) => one !== failed);
    const chosen = others.length > 0 ? others : among;
    return present(chosen[this.#turn++ % chosen.length]);
  }

  /** @returns the status of the answer, null without one. */
  async #attempt(frontEnd: FrontEnd, number: number): Promise<number | null> {
    const { path, headers, body, rowStart } = this.#template;
    const own = Uint8Array.from(body);
    markRow(own.subarray(rowStart), number);
    const answer = await askOnce(frontEnd, path, PATIENCE_MS, { headers, body: own });
    if (answer === "broken" || answer === "timedOut") {
      this.failed[answer]++;
      frontEnd.awaySinceMs ??= performance.now();
      return null;
    }
    if (REFUSED.has(answer)) this.failed.refused++;
    return answer;
  }

  async #probe(): Promise<void> {
    while (!this.#isOver) {
      await pause(PROBE_MS);
      for (const frontEnd of this.#frontEnds) {
        if (frontEnd.awaySinceMs === undefined) continue;
        const answer = await askOnce(frontEnd, "/v2/health/ready", PROBE_MS);
        if (answer === 200) frontEnd.awaySinceMs = undefined;
      }
    }
  }
}

interface Content {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** @returns the status, once the answer is whole. */
function askOnce(
  { url, agent }: FrontEnd,
  path: string,
  patienceMs: number,
  content?: Content,
): Promise<number | "broken" | "timedOut"> {
  return new Promise((resolve) => {
    const method = content === undefined ? "GET" : "POST";
    const headers = { ...content?.headers };
    const asking = request(`${url}${path}`, { method, agent, headers });
    const timer = setTimeout(() => {
      resolve("timedOut");
      asking.destroy();
    }, patienceMs);
    const end = (outcome: number | "broken") => {
      clearTimeout(timer);
      resolve(outcome);
    };
    asking.on("error", () => end("broken"));
    asking.on("response", (response: IncomingMessage) => {
      response.on("error", () => end("broken"));
      response.on("end", () => end(response.statusCode ?? 0));
      response.resume();
    });
    asking.end(content?.body);
  });
}
