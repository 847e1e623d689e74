/** `scaler --policy BUNDLE`: computes the number of workers for the observed load. */
import { readFile } from "node:fs/promises";
import { ServerCredentials } from "@grpc/grpc-js";
import { EXIT_CODES, RuntimeError } from "../base/errors.ts";
import { loadBundle } from "../bundles/load-bundle.ts";
import { storeFolder } from "../features/sources/store-folder.ts";
import { openedSources } from "../host/opened-sources.ts";
import { openKeda } from "../scaler/keda.ts";
import { LoadWatch } from "../scaler/load-watch.ts";
import { replicasOf } from "../scaler/replicas.ts";
import { tokenFileFor } from "../settings/shown-tokens.ts";
import type { CommandResult } from "./command-result.ts";
import { expectOneLoad, openLoad } from "./scaler-load.ts";
import type { ScalerFlags, ScalerSurroundings } from "./scaler-options.ts";

/** Interval between two readings of the load. */
const LOOK_MS = 1000;
/** A bundle is fetched once, so this interval never passes. */
const POLL_MS = 60_000;

/** Runs until the signal. @throws BundleError, RuntimeError */
export async function scalerCommand(
  flags: ScalerFlags,
  surroundings: ScalerSurroundings,
): Promise<void> {
  const { signal, onReady, nowMs, environment } = surroundings;
  expectOneLoad(flags);
  const { bundle } = await loadBundle(await policyOf(flags, surroundings));
  const credentials = await credentialsOf(flags);
  const { application } = bundle;
  const opened = await openLoad(flags, application, surroundings);
  const watch = new LoadWatch({ bundle, frontEnds: opened.source, nowMs });
  const server = await openKeda({
    ...{ watch, ...flags.grpc, credentials },
    replicasOf: (set) => replicasOf(set, environment),
  });
  const look = () => void watch.look();
  const timer = setInterval(look, LOOK_MS);
  onReady(readyText(server.url, application, watch));
  look();
  await aborted(signal);
  clearInterval(timer);
  await server.close();
  await opened.close();
}

/** Returns the path of the bundle; one of a source is fetched. @throws RuntimeError, BundleError */
async function policyOf(
  { policy, store, token }: ScalerFlags,
  { environment, signal, onNotice }: ScalerSurroundings,
): Promise<string> {
  const folder = storeFolder(store ?? null, environment);
  const tokenFile = tokenFileFor("sources", token);
  const settings = { storeFolder: folder, pollMs: POLL_MS, tokenFile };
  const sources = await openedSources(
    // No model runs here, so no model is fetched.
    { policy, models: folder, sources: { ...settings, environment, signal }, onNotice },
    null,
  );
  const [path = policy] = sources?.paths ?? [];
  await sources?.close();
  return path;
}

/** @throws RuntimeError RUNTIME_UNREADABLE, RUNTIME_ACCESS */
async function credentialsOf({ tls }: ScalerFlags): Promise<ServerCredentials> {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const [cert, key] = await Promise.all([pemOf(tls.cert), pemOf(tls.key)]);
  const ca = tls.clientCa === undefined ? null : await pemOf(tls.clientCa);
  try {
    const pair = [{ cert_chain: cert, private_key: key }];
    return ServerCredentials.createSsl(ca, pair, ca !== null);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const expected = `expected the private key of ${tls.cert}`;
    throw new RuntimeError("RUNTIME_ACCESS", `${tls.key}: ${expected}: ${reason}`);
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
