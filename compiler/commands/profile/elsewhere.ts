/** Workers of other machines as those that `profile` measures, with the way to them. */
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
  /** URLs with commas. */
  readonly workers?: string;
  /** Files with what servers are shown, such as `workers=token.txt`. */
  readonly token?: readonly string[];
  readonly hardware?: string;
}

export interface MeasuredElsewhere {
  readonly urls: readonly string[];
  /** Null where workers let anybody in. */
  readonly tokenFile: string | null;
  /** Options of `serve` by which it has the same workers. */
  readonly serveOptions: readonly string[];
}

/** As `serve` calls the only pool there is. */
const POOL = "measured";

/**
 * Where the workers to measure are: as the command line has it, else as the spec has it of its only
 * pool, or of the one whose hardware is measured.
 * @returns null where they are processes of this machine.
 * @throws RuntimeError for what are no URLs; InputError for the spec.
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
  throw usage("expected --workers URL beside --token, or a pool with URLs, got neither");
}

function parseUrls(text: string): string[] {
  const urls = [...new Set(text.split(","))];
  if (urls.every(isWorkerUrl)) return urls;
  throw usage(`--workers: expected ${WORKER_URL_FORM}, several with commas, got "${text}"`);
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
 * Starts executors over the workers of these URLs, each on as many of them as it has slots.
 * @param batchTimeoutMs time that a batch may take.
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
    // Somebody waits for the profile: a worker that is away is told of, and not waited for.
    await executor.close();
    throw new Error(refusal);
  };
}

/** Whoever measures wants to know that it is this file. Modules and chains have no one file. */
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
