/** Reports the status of this server's policies to `--status-url` whenever it changes. */
import type { MetricLine } from "../../base/exposition.ts";
import { logRecordLines } from "../../base/metric-families.ts";
import type { Notice } from "../../base/notice.ts";
import { realWait, type Wait } from "../../base/wait.ts";
import type { HttpClient } from "./http-client.ts";
import { nextRetryMs, type Pace } from "./pace.ts";
import { AwayError, faultOf } from "./source-error.ts";

interface ReportOptions {
  readonly url: string;
  readonly client: Pick<HttpClient, "post">;
  readonly document: () => object;
  readonly pace: Pace;
  readonly onNotice: Notice;
  /** Waits; by default in real time. */
  readonly wait?: Wait;
}

/** Interval of reports without a change, so that a silent site is noticed. */
const HEARTBEAT_MS = 300_000;

/**
 * Sends at most one document at a time and queues none: each report has the status at that time.
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

  /** Requests a report. */
  changed(): void {
    this.#isDue = true;
    // A failing receiver is retried at its own pace.
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
    // The creator may still be setting up what the document reads.
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

  /** Sends a report; never rejects. @returns the wait that the receiver requests, if any. */
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
        onNotice(`--status-url: ${message}; the status report will be retried`, "warn");
      }
      return error instanceof AwayError ? error.retryAfterMs : null;
    }
  }
}
