/** Berlin loses power in each step of an update, one after the other, and the registry with it. */
import { setTimeout as pause } from "node:timers/promises";
import { ofVersion, type Version, withSmallest } from "./factory.ts";
import type { Stage } from "./stage.ts";

/** What became of the server whose power was cut before a step was done, or in the midst of it. */
export interface CutOutcome {
  readonly step: string;
  /** Which revision it served when it was started again, without a registry. */
  readonly served: "before" | "new";
}

/** What an update does after the new one decides takes less. */
const SETTLED_MS = 2000;

/** @param most cuts at most, spread over all steps. @returns in the order of the steps. */
export async function playPowerCuts(stage: Stage, most: number): Promise<CutOutcome[]> {
  let steps: readonly string[] = [];
  await stage.step("an update with a new model", async () => {
    steps = await stepsOf(stage);
    return `followed, in ${steps.length} steps`;
  });
  const every = Math.max(1, steps.length / most);
  const chosen = steps.filter((_, at) => Math.floor(at / every) > Math.floor((at - 1) / every));
  const outcomes: CutOutcome[] = [];
  await stage.step(`the power of Berlin is cut in ${chosen.length} steps`, async () => {
    for (const step of chosen) outcomes.push(await cutAt(stage, step, outcomes.length));
    const found = (served: string) => outcomes.filter((one) => one.served === served).length;
    return `starts with the one before ${found("before")} times, with the new ${found("new")}`;
  });
  return outcomes;
}

async function stepsOf(stage: Stage): Promise<string[]> {
  const { berlin } = stage;
  const { version, serial } = await made(stage, "whole");
  berlin.plan.lay("");
  await stage.factory.push(version, "berlin");
  await berlin.follows(serial);
  await pause(SETTLED_MS);
  return berlin.plan.take();
}

/** The last good one has to answer whatever was done by then, and the new one is followed later. */
async function cutAt(stage: Stage, step: string, at: number): Promise<CutOutcome> {
  const { berlin, messages } = stage;
  const before = (await berlin.status()).revision?.serial;
  const { version, serial } = await made(stage, `cut-${at}`);
  berlin.plan.lay(step);
  await stage.factory.push(version, "berlin");
  await berlin.until(`is cut as it ${step}`, async () => berlin.isCut);
  berlin.plan.take();
  await stage.stopRegistry();
  await berlin.start();
  const after = (await berlin.status()).revision?.serial;
  if (after !== serial && after !== before) {
    throw new Error(`${step}: it serves ${after}, neither ${before} nor ${serial}`);
  }
  await berlin.until("answers", async () => {
    const [message = new Uint8Array()] = messages;
    return (await berlin.ask(message)) === 200;
  });
  await stage.startRegistry();
  await berlin.follows(serial);
  return { step, served: after === serial ? "new" : "before" };
}

/** A version for Berlin that has a model which was never there, signed and not yet pushed. */
async function made(
  { factory }: Stage,
  name: string,
): Promise<{ readonly version: Version; readonly serial: number }> {
  const file = `mlp-s-${name}.onnx`;
  factory.addModel(file, "mlp-s.onnx", ofVersion(name));
  const version = await factory.compile(name, (spec) =>
    withSmallest(file)(spec.replace(/loads: .*/, "loads: [220]")),
  );
  return { version, serial: await factory.sign(version, "site=berlin") };
}
