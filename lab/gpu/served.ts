/** Applications compiled with this device's profile, and servers of them on the device. */
import { existsSync } from "node:fs";
import path from "node:path";
import { stratagem } from "../experiments/harness/cli.ts";
import { type LiveServer, startServe } from "../experiments/harness/live.ts";
import { present } from "../experiments/harness/numbers.ts";
import { type ApplicationName, profiled, readApplication, writeSpec } from "./applications.ts";
import { type Asked, lettersLoads, malleableLoads, scenesLoads } from "./loads.ts";
import type { Settings } from "./settings.ts";

/** Where the models lie that a bundle names; a malleable one's lie beside it. */
const MODELS: Readonly<Record<ApplicationName, string | null>> = {
  letters: "models/image-classification",
  scenes: "models/scenes",
  malleable: null,
};
const MEAN_BATCH = 12;

export interface Compiled {
  readonly bundle: string;
  readonly asked: Asked;
}

/** Compiles an application for loads that suit its profile, unless that was done. */
export async function compiled(name: ApplicationName, settings: Settings): Promise<Compiled> {
  const asked = await askedOf(name, settings);
  const app = writeSpec(name, settings, asked);
  const bundle = app.replace(/\.json$/, ".msgpack");
  if (!existsSync(bundle)) await stratagem("compile", app, "-o", bundle);
  return { bundle, asked };
}

async function askedOf(name: ApplicationName, settings: Settings): Promise<Asked> {
  const profile = await profiled(name, settings);
  const { tasks, cluster } = readApplication(name, settings);
  const [first = [], second = []] = tasks.map(({ variants }) => variants);
  const names = first.map((variant) => variant.name);
  if (name === "letters") return lettersLoads(profile, names);
  if (name === "malleable") {
    const places = present(cluster.pools?.[0]).workers;
    return malleableLoads(profile, names, { places, meanBatch: MEAN_BATCH });
  }
  const [detector, classifier] = [present(first.at(-1)), present(second.at(-1))];
  return scenesLoads(profile, detector, classifier.name, present(cluster.workers));
}

/** Serves a bundle on the device; what the server says is seen only where it fails. */
export function serveOn(
  name: ApplicationName,
  bundle: string,
  settings: Settings,
): Promise<LiveServer> {
  const models = MODELS[name] ?? path.dirname(bundle);
  const args = ["--models", models, "--device", settings.device];
  return startServe(bundle, args, { isQuiet: true });
}
