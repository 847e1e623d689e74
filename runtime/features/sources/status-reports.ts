/** Tells a fleet's desk how the policies of this server stand, whenever that is otherwise. */
import type { MetricLine } from "../../base/exposition.ts";
import type { Notice } from "../../base/notice.ts";
import { realWait, type Wait } from "../../base/wait.ts";
import { logRecordLines } from "../../server/metrics/shared-families.ts";
import type { HttpClient } from "./http-client.ts";
import { nextRetryMs, type Pace } from "./pace.ts";
import { AwayError, faultOf } from "./source-error.ts";

interface ReportOptions {
  readonly url: string;
  readonly client: Pick<HttpClient, "post">;
  /** How it is now. */
  readonly document: () => object;
  readonly pace: Pace;
  readonly onNotice: Notice;
  /** Left out for real time. */
  readonly wait?: Wait;
}

/** Without a change it is told that all is as it was, so that a silent site is seen. */
const HEARTBEAT_MS = 300_000;

/**
 * One document at most is under way, and none waits in memory: what is told is how it is then.
 */
export class StatusReports {
  readonly #options: ReportOptions;
  readonly #closing = new AbortController();
  #nudge = new AbortController();
  #isDue = true;
  #sent = 0;
  #failed = 0;
  #failures = 0;
  #loop: Promise<void>;

  constructor(options: ReportOptions) {
    this.#options = options;
    this.#loop = this.#run();
  }

  /** It is otherwise now. */
  changed(): void {
    this.#isDue = true;
    // A receiver that is away is asked in its time.
    if (this.#failures === 0) this.#nudge.abort();
  }

  lines(): MetricLine[] {
    return logRecordLines("status", [
      ["taken", this.#sent],
      ["lost", this.#failed],
    ]);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { wait = realWait, pace } = this.#options;
    const { signal } = this.#closing;
    let askedMs: number | null = null;
    // Whoever made it may still be making what it tells of.
    await Promise.resolve();
    while (!signal.aborted) {
      this.#nudge = new AbortController();
      if (this.#isDue) askedMs = await this.#send();
      if (this.#isDue && this.#failures === 0) continue;
      const ms = this.#failures === 0 ? HEARTBEAT_MS : nextRetryMs(this.#failures, askedMs, pace);
      await wait(ms, AbortSignal.any([signal, this.#nudge.signal]));
      this.#isDue = true;
    }
  }

  /** Never rejects. @returns when the receiver asks to be told again, if it does. */
  async #send(): Promise<number | null> {
    const { url, client, document, onNotice } = this.#options;
    const { signal } = this.#closing;
    this.#isDue = false;
    try {
      await client.post(url, document(), signal);
      this.#sent++;
      this.#failures = 0;
      return null;
    } catch (error) {
      if (signal.aborted) return null;
      this.#failed++;
      this.#failures++;
      if (this.#failures === 1) {
        const { message } = faultOf(error);
        onNotice(`--status-url: ${message}; how policies stand is told again later`, "warn");
      }
      return error instanceof AwayError ? error.retryAfterMs : null;
    }
  }
}
