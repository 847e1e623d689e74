/** What executors of workers on other machines are started with. */
import type { ExecutorOptions } from "../exec/executor.ts";
import type { Notice } from "../server/telemetry/notice.ts";
import type { Hops } from "./hops.ts";
import type { RemoteLimits } from "./remote-limits.ts";
import type { RemoteWorkers } from "./remote-workers.ts";
import type { ReadToken } from "./worker-token.ts";

export interface RemoteOptions
  extends Pick<ExecutorOptions, "variants" | "workerCount" | "threadsPerWorker"> {
  /** The pool of each worker slot, by index. */
  readonly pools: readonly number[];
  /** By the index of the pool. */
  readonly poolNames: readonly string[];
  readonly workers: RemoteWorkers;
  /** Name of this front end among those that use the same workers. */
  readonly frontEnd: string;
  readonly hops: Hops;
  /** What workers are shown that let nobody else in. */
  readonly readToken: ReadToken;
  /** What an operator should see, such as a worker that cannot be used. */
  readonly onNotice: Notice;
  readonly limits?: Partial<RemoteLimits>;
}
