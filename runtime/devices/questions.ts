/** What a short-lived process is asked about drivers, and how it is asked. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { DeviceDescription } from "../bundle/schema.ts";
import type { VulkanReport } from "./native/vulkan.ts";

export type Question =
  | { readonly ask: "vulkan" }
  /** @param id as CUDA_VISIBLE_DEVICES names one device. */
  | { readonly ask: "nvidia"; readonly id: string; readonly isInBusOrder: boolean }
  | { readonly ask: "libraries"; readonly paths: readonly string[] };

/** By question; null where the process could not answer. */
export interface Answers {
  readonly vulkan: VulkanReport;
  readonly nvidia: DeviceDescription | null;
  /** Why each cannot be loaded; null for one that can. */
  readonly libraries: readonly (string | null)[];
}

const PROBE = fileURLToPath(new URL("./native/probe.js", import.meta.url));
/** Drivers of accelerators that sleep take seconds. */
const TIMEOUT_MS = 20_000;

/**
 * Asks in a process of its own, which may crash or hang.
 * @param env all its variables.
 * @returns null where it had no answer.
 */
export function ask<Q extends Question>(
  question: Q,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Answers[Q["ask"]] | null> {
  return new Promise((resolve) => {
    const options = {
      cwd: "/",
      env: { ...env },
      timeout: TIMEOUT_MS,
      killSignal: "SIGKILL",
    } as const;
    execFile(process.execPath, [PROBE, JSON.stringify(question)], options, (_, stdout) => {
      // Whatever became of it afterwards, such as a crash of a driver as it is unloaded.
      resolve(answerIn<Answers[Q["ask"]]>(stdout));
    });
  });
}

function answerIn<Answer>(printed: string): Answer | null {
  try {
    return JSON.parse(printed.trimEnd().split("\n").at(-1) ?? "");
  } catch {
    return null;
  }
}
