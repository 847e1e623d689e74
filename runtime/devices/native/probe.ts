/**
 * The program of a process that asks drivers and ends: a bad driver takes nobody else along. Its
 * argument is the question, the last line that it prints the answer, both JSON.
 */
import koffi from "koffi";
import type { Question } from "../questions.ts";
import { nvidiaDevice } from "./nvidia-device.ts";
import { Nvml } from "./nvml.ts";
import { askVulkan } from "./vulkan.ts";

const question: Question = JSON.parse(process.argv[2] ?? "");
process.stdout.write(`\n${JSON.stringify(answerTo(question))}\n`);

function answerTo(asked: Question): unknown {
  if (asked.ask === "vulkan") return askVulkan();
  if (asked.ask === "libraries") return asked.paths.map(loadError);
  try {
    return nvidiaDevice(Nvml.open(), asked.id, asked.isInBusOrder);
  } catch {
    return null;
  }
}

/** Null for a library that can be loaded; those before it may be what it needs. */
function loadError(path: string): string | null {
  try {
    koffi.load(path, { lazy: true, global: true });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
