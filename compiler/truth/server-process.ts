/** Servers and commands of the product, each in a process that ends with its parent. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import { askHttp } from "stratagem-runtime/internal/base/http-client";
import { type AnsweredRequest, answeredRequests } from "../explain/logged-request.ts";

export interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  /** Returns the answered requests since the last call. */
  served(): Promise<AnsweredRequest[]>;
  /** Returns the promises that it has called broken since the last call, in its words. */
  alarms(): string[];
  /** Reads its metrics. */
  metrics(): Promise<string>;
  /** Answers accepted requests first; resolves when the process has ended. */
  stop(): Promise<void>;
}

/** Path of the product's command line. */
const CLI = fileURLToPath(new URL("../cli.js", import.meta.url));

/** Time after which a server that does not stop is killed. */
const STOP_MS = 15_000;

/**
 * @param options of `serve` besides the bundle. @param accessLog file for a line per request.
 * @throws RuntimeError with the server's output if it does not start; the signal's reason.
 */
export async function startServerProcess(
  bundle: string,
  options: readonly string[],
  accessLog: string,
  signal: AbortSignal,
): Promise<ServerProcess> {
  signal.throwIfAborted();
  const where = ["--http", "127.0.0.1:0", "--json", "--access-log", accessLog];
  const args = [CLI, "serve", "--policy", bundle, ...options, ...where];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-MAX_QUOTED);
  });
  const alarms: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    const said = ALARM.exec(line)?.[1];
    if (said !== undefined) alarms.push(said);
  });
  const exited = once(child, "exit");
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await exited;
    clearTimeout(timer);
  };
  const onAbort = (): void => void child.kill("SIGTERM");
  signal.addEventListener("abort", onAbort, { once: true });
  void exited.then(() => signal.removeEventListener("abort", onAbort));
  const url = await Promise.race([urlFrom(child.stdout), exited.then(() => null)]);
  signal.throwIfAborted();
  if (url === null) {
    const reason = output.trim().replaceAll(/\s+/g, " ");
    throw new RuntimeError("RUNTIME_DEVICE", `${bundle}: its server did not start: ${reason}`);
  }
  let read = 0;
  const served = async (): Promise<AnsweredRequest[]> => {
    const log = await readFile(accessLog);
    const fresh = log.subarray(read).toString();
    read = log.length;
    return answeredRequests(fresh);
  };
  const metrics = async (): Promise<string> =>
    (await askHttp(`${url}/metrics`, { timeoutMs: 30_000, maxBytes: 2 ** 26 })).bytes.toString();
  return { url, pid: child.pid ?? 0, served, alarms: () => alarms.splice(0), metrics, stop };
}

const ALARM = /promise broken: (.*)/;

const MAX_QUOTED = 4000;

/** Reads the URL from the document that a server prints when it is ready. */
async function urlFrom(stdout: NodeJS.ReadableStream): Promise<string | null> {
  const lines = createInterface({ input: stdout });
  return new Promise((resolve) => {
    lines.on("line", (line) => {
      const url = /^\s*"url": "([^"]*)"/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
}

/**
 * Runs a command; its messages are shown and its result is discarded.
 * @returns its exit code. @throws the signal's reason, after the process has ended.
 */
export async function runCommand(args: readonly string[], signal: AbortSignal): Promise<number> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ["ignore", "ignore", "inherit"] });
  const onAbort = (): void => void child.kill("SIGTERM");
  signal.addEventListener("abort", onAbort, { once: true });
  const [code]: (number | null)[] = await once(child, "exit");
  signal.removeEventListener("abort", onAbort);
  signal.throwIfAborted();
  return code ?? 1;
}
