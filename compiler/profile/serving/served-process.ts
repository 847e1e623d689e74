/** Starts the product's own server in a separate process, on a free port of this machine. */
import { type ChildProcess, spawn } from "node:child_process";
import { InputError } from "../../spec/document/input-error.ts";

export interface ServedProcess {
  readonly url: string;
  /** Process id of the server, not of its workers. */
  readonly pid: number;
  /** Stops the server and waits for its end. */
  stop(): Promise<void>;
}

interface ServedOptions {
  /** Path of the built command line that has `serve`. */
  readonly cli: string;
  readonly bundle: string;
  /** Folder of its models. */
  readonly models: string;
  /** Path of the access log. */
  readonly accessLog: string;
  readonly threads: number;
  /** Further options of `serve`. */
  readonly options: readonly string[];
  readonly signal: AbortSignal;
}

/** Time after which a server that does not stop is killed. */
const STOP_MS = 10_000;
/** Most characters of the server's output quoted in an error. */
const MOST_QUOTED = 600;

/** @throws InputError if it ends before it listens; the signal's reason. */
export async function startServed(options: ServedOptions): Promise<ServedProcess> {
  const { cli, bundle, models, accessLog, threads, signal } = options;
  signal.throwIfAborted();
  const where = ["--http", "127.0.0.1:0", "--json", "--no-page", "--access-log", accessLog];
  const what = ["--policy", bundle, "--models", models, "--threads", String(threads)];
  const child = spawn(process.execPath, [cli, "serve", ...what, ...options.options, ...where], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const stop = () => end(child, ended);
  // The pending promises reject when the process ends.
  signal.addEventListener("abort", () => child.kill("SIGKILL"), { once: true });
  const url = await listening(child, ended).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
  return { url, pid: child.pid ?? 0, stop };
}

async function end(child: ChildProcess, ended: Promise<void>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  await ended;
  clearTimeout(timer);
}

/** The server prints one JSON document when it is ready. */
function listening(child: ChildProcess, ended: Promise<void>): Promise<string> {
  let output = "";
  let complaints = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    complaints = (complaints + chunk.toString()).slice(-MOST_QUOTED);
  });
  return new Promise((resolve, reject) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      const url = urlOf(output);
      if (url !== null) resolve(url);
    });
    void ended.then(() => {
      const found = complaints.trim() === "" ? "one that ended at once" : complaints.trim();
      const message = `expected a server that starts, to measure its serving path, got: ${found}`;
      reject(new InputError("INPUT_CONFLICT", message));
    });
  });
}

/** Returns null while the document is incomplete. */
function urlOf(text: string): string | null {
  if (!text.trimEnd().endsWith("}")) return null;
  try {
    const document: unknown = JSON.parse(text);
    if (typeof document !== "object" || document === null || !("url" in document)) return null;
    return typeof document.url === "string" ? document.url : null;
  } catch {
    return null;
  }
}
