/** `scaler --policy BUNDLE --metrics URL`: says how many workers the observed load wants. */
import { readFile } from "node:fs/promises";
import { ServerCredentials } from "@grpc/grpc-js";
import { EXIT_CODES, RuntimeError } from "../errors.ts";
import { openKeda } from "../keda/keda.ts";
import { loadBundle } from "../load-bundle.ts";
import { FrontEnds } from "../scaling/front-ends.ts";
import { LoadWatch } from "../scaling/load-watch.ts";
import { HttpClient } from "../sources/http-client.ts";
import type { CommandResult } from "./command-result.ts";
import { openDirect } from "./scaler-direct.ts";
import type { ScalerFlags, ScalerSurroundings } from "./scaler-options.ts";

/** Between two looks at the front ends. */
const LOOK_MS = 1000;
/** A front end that takes longer counts with what it said last. */
const PATIENCE_MS = 900;
/** The text of a front end with hundreds of variants is below 1 MiB. */
const MOST_BYTES = 16 * 2 ** 20;

/** Runs until the signal. @throws BundleError, RuntimeError */
export async function scalerCommand(
  flags: ScalerFlags,
  surroundings: ScalerSurroundings,
): Promise<void> {
  const { signal, onReady, nowMs } = surroundings;
  const { bundle } = await loadBundle(flags.policy);
  const credentials = await credentialsOf(flags);
  const { application } = bundle;
  const frontEnds = new FrontEnds({ urls: flags.metrics, application, read: readerOf(flags) });
  const watch = new LoadWatch({ bundle, frontEnds, nowMs });
  const direct = await openDirect(flags, watch, bundle, surroundings);
  const { replicasOf } = direct;
  const server = await openKeda({ watch, ...flags.grpc, credentials, replicasOf });
  const look = () => void watch.look().then(() => direct.follow());
  const timer = setInterval(look, LOOK_MS);
  onReady(readyText(server.url, application, watch));
  look();
  await aborted(signal);
  clearInterval(timer);
  await direct.close();
  await server.close();
}

function readerOf({ tokenFile }: ScalerFlags): (url: string) => Promise<string> {
  const client = new HttpClient({ tokenFile, stallMs: PATIENCE_MS });
  return async (url) => {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const answer = await client.get(url, { maxBytes: MOST_BYTES, signal });
    if (answer.kind !== "found") throw new Error(`${url}: expected metrics, got 404`);
    return Buffer.from(answer.bytes).toString("utf8");
  };
}

/** @throws RuntimeError RUNTIME_USAGE, RUNTIME_UNREADABLE, RUNTIME_ACCESS */
async function credentialsOf({
  tlsCert,
  tlsKey,
  tlsClientCa,
}: ScalerFlags): Promise<ServerCredentials> {
  if (tlsCert === undefined && tlsKey === undefined && tlsClientCa === undefined) {
    return ServerCredentials.createInsecure();
  }
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new RuntimeError("RUNTIME_USAGE", "expected --tls-cert and --tls-key together");
  }
  const [cert, key] = await Promise.all([pemOf(tlsCert), pemOf(tlsKey)]);
  const ca = tlsClientCa === undefined ? null : await pemOf(tlsClientCa);
  try {
    const pair = [{ cert_chain: cert, private_key: key }];
    return ServerCredentials.createSsl(ca, pair, ca !== null);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const expected = `expected the private key of ${tlsCert}`;
    throw new RuntimeError("RUNTIME_ACCESS", `${tlsKey}: ${expected}: ${reason}`);
  }
}

async function pemOf(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: expected a file, got ${code}`);
  }
}

function readyText(grpc: string, application: string, watch: LoadWatch): CommandResult {
  const { tasks, pools } = watch.plan.parts;
  const text = `scaler of ${application} at ${grpc}, for pools ${pools.join(", ")}`;
  return { exitCode: EXIT_CODES.ok, text, json: { grpc, application, tasks, pools } };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
