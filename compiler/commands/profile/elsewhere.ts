/** Lets `profile` measure workers on other machines, including the network. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import { isWorkerUrl, WORKER_URL_FORM } from "stratagem-runtime/internal/bundle/schema";
import type {
  AssignedExecutor,
  VariantModel,
} from "stratagem-runtime/internal/exec/models/executor";
import { Hops } from "stratagem-runtime/internal/remote/hops";
import { startRemoteAssignedExecutor } from "stratagem-runtime/internal/remote/remote-assigned";
import { fixedWorkers, workersAt } from "stratagem-runtime/internal/remote/remote-workers";
import { tokenReader } from "stratagem-runtime/internal/remote/worker-token";
import { tokenFileFor } from "stratagem-runtime/internal/settings/shown-tokens";
import type { WorkerSources } from "../../profile/profiled-worker.ts";
import { readDocument } from "../../spec/document/document.ts";
import { parseStructure } from "../../spec/document/structure.ts";
import { applicationSchema } from "../../spec/schema/application-schema.ts";

export interface ElsewhereFlags {
  /** Comma-separated URLs. */
  readonly workers?: string;
  /** Files with tokens for servers, such as `workers=token.txt`. */
  readonly token?: readonly string[];
  readonly hardware?: string;
}

export interface MeasuredElsewhere {
  readonly urls: readonly string[];
  /** Null if workers require no token. */
  readonly tokenFile: string | null;
  /** Options that make `serve` use the same workers. */
  readonly serveOptions: readonly string[];
}

/** Name that `serve` gives to the only pool. */
const POOL = "measured";

/**
 * Finds the workers to measure: from the command line, or from the spec's only pool or the one with
 * the measured hardware.
 * @returns null for processes of this machine.
 * @throws RuntimeError for invalid URLs; InputError for the spec.
 */
export function measuredElsewhere(app: string, flags: ElsewhereFlags): MeasuredElsewhere | null {
  const { workers } = flags;
  const tokenFile = tokenFileFor("workers", flags.token) ?? null;
  const shown = tokenFile === null ? [] : ["--token", `workers=${tokenFile}`];
  if (workers !== undefined) {
    const serveOptions = ["--workers", workers, ...shown];
    return { urls: parseUrls(workers), tokenFile, serveOptions };
  }
  const urls = urlsOf(app, flags.hardware);
  if (urls !== null) return { urls, tokenFile, serveOptions: shown };
  if (tokenFile === null) return null;
  throw usage("expected --workers URL with --token, or a pool with URLs, got neither");
}

function parseUrls(text: string): string[] {
  const urls = [...new Set(text.split(","))];
  if (urls.every(isWorkerUrl)) return urls;
  throw usage(`--workers: expected ${WORKER_URL_FORM}, separated by commas, got "${text}"`);
}

function urlsOf(app: string, hardware: string | undefined): readonly string[] | null {
  const { cluster } = parseStructure(readDocument(app), applicationSchema);
  const pools = cluster.pools ?? [{ workers: cluster.workers, hardware }];
  const measured = pools.length === 1 ? pools : pools.filter((pool) => isOf(pool, hardware));
  const [pool] = measured;
  return measured.length === 1 && Array.isArray(pool?.workers) ? pool.workers : null;
}

function isOf(pool: { readonly hardware?: string | undefined }, hardware: string | undefined) {
  return hardware !== undefined && pool.hardware === hardware;
}

/**
 * Starts executors on the workers at the URLs, each on as many workers as it has slots.
 * @param batchTimeoutMs timeout of a batch.
 */
export function startElsewhere(
  { urls, tokenFile }: MeasuredElsewhere,
  batchTimeoutMs: number,
): WorkerSources["startExecutor"] {
  const readToken = tokenReader(tokenFile ?? undefined);
  return async ({ variants, workerCount, threadsPerWorker }, handlers) => {
    if (workerCount > urls.length) {
      throw new Error(`expected ${workerCount} workers elsewhere, got ${urls.length}`);
    }
    const refusals: string[] = [];
    const executor: AssignedExecutor = await startRemoteAssignedExecutor(
      {
        variants: await Promise.all(variants.map(withDigest)),
        workerCount,
        threadsPerWorker,
        pools: new Array<number>(workerCount).fill(0),
        poolNames: [POOL],
        workers: fixedWorkers(workersAt(POOL, urls.slice(0, workerCount))),
        frontEnd: `profile-${hostname()}-${process.pid}`,
        hops: new Hops(0, () => {}),
        readToken,
        onNotice: (message) => refusals.push(message),
        limits: { batchTimeoutMs },
      },
      handlers,
    );
    const [refusal] = refusals;
    if (refusal === undefined) return executor;
    // A profile run does not wait for an unreachable worker; it reports it.
    await executor.close();
    throw new Error(refusal);
  };
}

/** Lets the worker check that it has the same file. Modules and chains have no single file. */
async function withDigest(variant: VariantModel): Promise<VariantModel> {
  const { path, module, remote, parts } = variant;
  if (module !== undefined || remote !== undefined || parts !== undefined) return variant;
  const digest = createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
  return { ...variant, digest };
}

function usage(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", message);
}
