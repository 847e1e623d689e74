/** The way of a policy from CI to two edges, with all that goes wrong on it. */
import { playCanaries } from "./canary-acts.ts";
import { type Version, withoutBest, withQueue } from "./factory.ts";
import { type CutOutcome, playPowerCuts } from "./power-cuts.ts";
import { playRefusals } from "./refusals.ts";
import { Stage, type TellStep } from "./stage.ts";

export interface PlayOptions {
  readonly folder: string;
  /** Times that the power is cut in an update, at most. */
  readonly cuts: number;
  readonly tell: TellStep;
}

/** @returns what became of each power cut. @throws Error where a step does not end as it should. */
export async function playAll({ folder, cuts, tell }: PlayOptions): Promise<CutOutcome[]> {
  const stage = await Stage.open(folder, tell);
  try {
    const { first, second } = await playFirst(stage);
    await playRefusals(stage, first, second);
    const third = await stage.factory.compile("third", withQueue(14));
    await playRegistryAway(stage, third);
    await playCanaries(stage, third);
    const outcomes = await playPowerCuts(stage, cuts);
    await stage.tellTotals();
    return outcomes;
  } finally {
    await stage.close();
  }
}

async function playFirst(stage: Stage): Promise<Record<"first" | "second", Version>> {
  const { factory, berlin, bonn } = stage;
  const first = await factory.compile("first", (spec) => spec);
  await stage.publish(first);
  await Promise.all([berlin.start(), bonn.start()]);
  stage.ask();
  await stage.step("CI compiles, signs, pushes; both start", async () => "both serve");
  const second = await factory.compile("second", withQueue(15));
  await stage.step("a second version", async () => {
    const code = await factory.gate(first, second);
    if (code !== 0) throw new Error(`the gate refuses what may ship: ${code}`);
    await stage.publish(second);
    return "passes the gate; both follow";
  });
  await stage.step("a worse version", async () => {
    const worse = await factory.compile("worse", withoutBest);
    const code = await factory.gate(second, worse);
    if (code !== 3) throw new Error(`the gate lets a worse one through: ${code}`);
    return "stopped by the gate: exit code 3";
  });
  return { first, second };
}

async function playRegistryAway(stage: Stage, third: Version): Promise<void> {
  const { berlin } = stage;
  await stage.step("the registry is killed", async () => {
    await stage.stopRegistry();
    await berlin.until("away", async () => (await berlin.status()).state === "away");
    return "both serve, and say that it is away";
  });
  await stage.step("Berlin loses power meanwhile", async () => {
    await berlin.cut();
    await berlin.start();
    return "it starts with the last good one";
  });
  await stage.step("the registry is back, with a third", async () => {
    await stage.startRegistry();
    await stage.publish(third);
    return "both follow";
  });
}
