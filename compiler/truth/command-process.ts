/** Runs commands of the product as steps of a longer one, each in its own process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { CLI } from "./server-process.ts";

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
