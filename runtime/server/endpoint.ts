import type { Bundle } from "../bundle/schema.ts";
import type { ExecutorHandlers } from "../exec/executor.ts";
import type { RequestRows, Submission } from "./request.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import type { ClientSignature } from "./signature.ts";

/** What answers inference requests: rows in, tensors out, by the bundle that decides. */
export interface Endpoint {
  readonly signature: ClientSignature;
  readonly metrics: RequestMetrics;
  /** What the executor tells. */
  readonly handlers: Required<ExecutorHandlers>;
  /** Least time in which a request can be answered. */
  readonly fastestMs: number;
  readonly isReady: boolean;
  /** Kept once it is ready for the first time. */
  readonly started: Promise<void>;
  submit(rows: RequestRows, deadlineMs: number): Submission;
  metricsText(): string;
  /** Lets another bundle decide from now on. @param bundle a validated one. @returns why it cannot, or null; nothing has changed if it cannot. */
  replaceBundle(bundle: Bundle, bundleSha256: string): string | null;
  /** No more work but for what was accepted. */
  drain(): void;
  /** Fails every request that is still open. */
  abort(): void;
}
