/** A process that reads specs as `compile` does before it solves, and says how it went. */
import { allMethods, methodOf } from "stratagem/internal/methods/registry";
import { InputError } from "stratagem/internal/spec/document/input-error";
import { loadApplication } from "stratagem/internal/spec/load-application";

/** What became of a spec. */
export interface Reading {
  readonly kind: "read" | "refused" | "thrown";
  /** Of a refusal or what was thrown. */
  readonly message: string;
  /** Of this process. */
  readonly cpuMs: number;
  readonly rssBytes: number;
}

/** Loading them is no part of a reading. */
const loaded = allMethods();

process.on("disconnect", () => process.exit());
process.on("message", async (path: string) => {
  await loaded;
  const before = process.cpuUsage();
  const [kind, message] = await outcomeOf(path);
  const { user, system } = process.cpuUsage(before);
  const { rss } = process.memoryUsage();
  const reading: Reading = { kind, message, cpuMs: (user + system) / 1000, rssBytes: rss };
  process.send?.(reading);
});

async function outcomeOf(path: string): Promise<[Reading["kind"], string]> {
  try {
    const { application, refuse } = loadApplication(path);
    const method = await methodOf(application.policy);
    refuse(method.mistakes(application));
    method.frame(application, new Map());
    return ["read", ""];
  } catch (error) {
    if (error instanceof InputError) return ["refused", `${error.code} ${error.message}`];
    return ["thrown", error instanceof Error ? String(error.stack) : String(error)];
  }
}
