/** A front end of a small model, with agents or with workers of its own. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { meanModel } from "../../../test/support/onnx-model.ts";
import { compiled } from "../harness/cli.ts";
import { type LiveServer, startServe, startServer } from "../harness/live.ts";

/** Its name, and that of the application. */
export const MODEL = "mean";
export const WORKERS = 2;
const AGENT = "runtime/dist/cli.js";

export interface Site {
  readonly frontEnd: LiveServer;
  /** None where the front end runs the models itself. */
  readonly agents: readonly LiveServer[];
}

/**
 * A model of 0.02 ms and two workers, with a deadline that refuses nothing.
 * @param width Float32 numbers in a row. @returns the path of the bundle.
 */
export async function smallPolicy(folder: string, width: number): Promise<string> {
  const model = join(folder, `${MODEL}.onnx`);
  writeFileSync(model, meanModel(width, 10));
  const variants = { [MODEL]: { accuracy: 0.5, latencyMs: { 1: 0.3, 32: 1, 64: 2 } } };
  const profile = { format: "latency-profile/1", hardware: "assumed", variants };
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  const variant = { name: MODEL, model, profile: `profile.json#${MODEL}` };
  const spec = {
    version: 1,
    application: MODEL,
    slo: { latency: "3 s" },
    workload: { loads: [2000], arrivals: { process: "poisson" } },
    cluster: { workers: WORKERS },
    tasks: [{ name: "only", variants: [variant] }],
    policy: { method: "ramsis", maxQueue: 64 },
  };
  writeFileSync(join(folder, "app.json"), JSON.stringify(spec));
  return (await compiled("ramsis", join(folder, "app.json"))).path;
}

/** Runs something with a front end, which ends afterwards with its agents. */
export async function withSite<T>(
  policy: string,
  isRemote: boolean,
  use: (site: Site) => Promise<T>,
): Promise<T> {
  const agents: LiveServer[] = [];
  let frontEnd: LiveServer | null = null;
  try {
    for (let at = 0; isRemote && at < WORKERS; at++) agents.push(await startAgent(policy, at));
    const urls = agents.map(({ url }) => url).join(",");
    const workers = isRemote ? ["--workers", urls] : [];
    const args = ["--no-means-check", "--standby", "0", ...workers];
    frontEnd = await startServe(policy, args, { isQuiet: true });
    return await use({ frontEnd, agents });
  } finally {
    await frontEnd?.stop();
    for (const agent of agents) await agent.stop();
  }
}

function startAgent(policy: string, at: number): Promise<LiveServer> {
  const args = ["worker", "--policy", policy, "--name", `w${at}`, "--http", "127.0.0.1:0"];
  return startServer([AGENT, ...args, "--json"], { isQuiet: true });
}
