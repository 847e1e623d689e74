/** Programs of the system that end at once: those that make machines, links and disks. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);
/** A program that takes longer is ended, and its error says so. */
const LIMIT_MS = 30_000;

/** Runs a program to its end. @returns what it prints. @throws Error with what it says instead. */
export async function command(program: string, ...args: string[]): Promise<string> {
  const { stdout } = await execute(program, args, { timeout: LIMIT_MS, killSignal: "SIGKILL" });
  return stdout;
}

/** The same in a namespace of the network. */
export function commandIn(namespace: string, ...args: string[]): Promise<string> {
  return command("ip", "netns", "exec", namespace, ...args);
}
