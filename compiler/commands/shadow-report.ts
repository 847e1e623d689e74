/** `stratagem shadow-report URL`: what a bundle that looks on would have made of real traffic. */
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/errors";
import { type LoadedBundle, loadBundle } from "stratagem-runtime/internal/load-bundle";
import { parseSeed } from "../load/load-arguments.ts";
import type { SimulateWatch } from "../processes/simulate-watch.ts";
import { toldText } from "../recalibrate/told-text.ts";
import { shadowText } from "../shadow/shadow-text.ts";
import { simulatedPair } from "../shadow/simulated-pair.ts";
import { type ToldPolicy, type ToldShadow, toldShadows } from "../shadow/told-shadow.ts";
import { InputError } from "../spec/input-error.ts";
import { parseTrace } from "../spec/trace.ts";

export interface ShadowReportOptions {
  /** Of the server, where administrators are served. */
  readonly url: string;
  /** Null where the server has one with a bundle that looks on. */
  readonly application: string | null;
  /** Files of the bundles; null for the paths that the server has. */
  readonly served: string | null;
  readonly shadow: string | null;
  readonly seed: string;
  /** That the server wants to be shown; undefined for none. */
  readonly token: string | undefined;
}

/**
 * @throws InputError for what the server says, RuntimeError for an option or for files that are not
 * those of the server, BundleError for a bundle that is refused.
 */
export async function shadowReportCommand(
  options: ShadowReportOptions,
  watch: SimulateWatch,
): Promise<CommandResult> {
  const { url, token } = options;
  const seed = parseSeed(options.seed);
  const { text } = await toldText(url, "/admin/shadow", watch.signal, token);
  const told = chosen(toldShadows(text, url), options);
  const served = await ownBundle("--served", options.served, told.served);
  const shadow = await ownBundle("--shadow", options.shadow, told.shadow);
  const trace = await arrivalsOf(told, options, watch.signal);
  const run = { trace, seed };
  const simulated = await simulatedPair(served.bundle, shadow.bundle, run, watch);
  const json = { ...told, simulated: { seed, arrivals: trace.arrivalMs.length, ...simulated } };
  return { exitCode: EXIT_CODES.ok, text: shadowText({ told, simulated }), json };
}

function chosen(
  shadows: readonly ToldShadow[],
  { url, application }: ShadowReportOptions,
): ToldShadow {
  const known = shadows.map((one) => one.application);
  const own = shadows.filter((one) => application === null || one.application === application);
  const [only, another] = own;
  if (only !== undefined && another === undefined) return only;
  if (known.length === 0) throw usage(`${url}: expected a server with --shadow, got one without`);
  const found = application === null ? "none" : `"${application}"`;
  throw usage(`${url}: expected --application, one of ${known.join(", ")}; got ${found}`);
}

/** @throws RuntimeError for a file that is not what the server has read. */
async function ownBundle(
  option: string,
  path: string | null,
  { policy, sha256 }: ToldPolicy,
): Promise<LoadedBundle> {
  const loaded = await loadBundle(path ?? policy);
  if (loaded.sha256 === sha256) return loaded;
  const expected = `expected the file that the server has read as ${policy}, SHA-256 ${sha256}`;
  throw usage(`${option} ${loaded.path}: ${expected}, got ${loaded.sha256}`);
}

async function arrivalsOf(
  { application }: ToldShadow,
  { url, token }: ShadowReportOptions,
  signal: AbortSignal,
) {
  const place = new URL(`/admin/shadow/arrivals/${encodeURIComponent(application)}`, url).href;
  const { text } = await toldText(place, "", signal, token);
  const trace = parseTrace(text, place);
  if (trace.kind === "arrivals") return trace;
  throw new InputError("INPUT_INVALID_VALUE", `${place}: expected arrivals, got rates`);
}

function usage(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", message);
}
