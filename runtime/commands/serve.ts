/** `serve --policy BUNDLE…`: answers inference requests until it is told to stop. */
import { EXIT_CODES, RuntimeError } from "../errors.ts";
import { methodOf } from "../methods/registry.ts";
import { type ServerOptions, type StartedServer, startServer } from "../start-server.ts";
import type { CommandResult } from "./command-result.ts";

export interface ServeOptions extends Omit<ServerOptions, "host" | "port" | "onNotice"> {
  /** HOST:PORT. */
  readonly http: string;
}

export interface ServeSurroundings {
  /** Aborting it stops the server: what was accepted is answered first. */
  readonly signal: AbortSignal;
  /** Called once every worker is ready. */
  readonly onReady: (result: CommandResult) => void;
  /** For what an operator should see, such as a lost worker. */
  readonly onNotice: (message: string) => void;
  /** Calls back, any number of times, when the bundle's file is to be read again. */
  readonly onReload: (reload: () => void) => void;
}

/** @throws BundleError, RuntimeError */
export async function serveCommand(
  { http, ...options }: ServeOptions,
  { signal, onReady, onNotice, onReload }: ServeSurroundings,
): Promise<void> {
  const server = await startServer({ ...options, ...parseAddress(http), onNotice });
  onReload(() => void server.reload().then(({ notice }) => onNotice(notice)));
  await Promise.race([server.started, aborted(signal)]);
  onReady(readyResult(server));
  await aborted(signal);
  onNotice("stopping: answering what was accepted");
  await server.close();
}

function readyResult({ url, served }: StartedServer): CommandResult {
  const told = served.map(({ policy, bundle, device }) => {
    const method = methodOf(bundle);
    const { workers, more, json } = method.tellServing(bundle);
    return {
      text: `serving ${policy} at ${url}: ${workers} on ${device}${more}`,
      json: { policy, workers: method.workerCount(bundle), device, ...json },
    };
  });
  const [first] = told;
  const more = told.length > 1 ? { served: told.map(({ json }) => json) } : {};
  return {
    exitCode: EXIT_CODES.ok,
    text: told.map(({ text }) => text).join("\n"),
    json: { url, ...first?.json, ...more },
  };
}

/** @throws RuntimeError if it is not HOST:PORT. */
function parseAddress(text: string): { readonly host: string; readonly port: number } {
  const match = /^(.+):(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  const host = match?.[1]?.replace(/^\[(.*)\]$/, "$1");
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `expected --http HOST:PORT such as 127.0.0.1:8000, got "${text}"`,
  );
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
