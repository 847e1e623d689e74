/** Versions that Bonn tries with a share of its requests before it takes them, or gives them up. */
import { join } from "node:path";
import { stratagemRuntime } from "../harness/cli.ts";
import type { CanaryStatus } from "./edge-server.ts";
import { type Version, withQueue } from "./factory.ts";
import type { Stage } from "./stage.ts";

const TAG = "canary";
const FAST_PROFILE = "faster-machine.json";
/** What another machine would take, of what this one does. */
const PART = 0.05;

/** @param before what Bonn follows. @returns what both sites follow then. */
export async function playCanaries(stage: Stage, before: Version): Promise<Version> {
  const { factory, bonn } = stage;
  const good = await factory.compile("good", withQueue(12));
  await stage.step("Bonn tries a version with a quarter of its requests", async () => {
    const told = await tried(stage, before, good);
    if (told.state !== "promoted") throw new Error(`${told.state}: ${told.because}`);
    return `taken after ${countText(told)}`;
  });
  await stage.step("CI publishes it for both", async () => {
    await stage.publish(good);
    return "both follow";
  });
  factory.addFasterProfile(FAST_PROFILE, PART);
  const bad = await factory.compile("faster", (spec) =>
    spec
      .replace("latency: 100 ms", "latency: 1 ms")
      .replaceAll("profile.json#", `${FAST_PROFILE}#`),
  );
  await stage.step("Bonn tries one that promises what a faster machine keeps", async () => {
    const { revision } = await bonn.status();
    const told = await tried(stage, good, bad);
    if (told.state !== "rolled back") throw new Error(`${told.state}: ${told.because}`);
    const after = await bonn.status();
    if (after.revision?.sha256 !== revision?.sha256) throw new Error("it was followed");
    return `passes the gate, is rolled back after ${countText(told)}`;
  });
  return good;
}

/** CI lets it pass and pushes it; an operator of Bonn pulls it and has it tried. */
async function tried({ factory, bonn, folder }: Stage, before: Version, next: Version) {
  const code = await factory.gate(before, next);
  if (code !== 0) throw new Error(`the gate refuses what is to be tried: ${code}`);
  await factory.sign(next, "site=bonn");
  await factory.push(next, TAG);
  const trusted = ["--key", factory.publicKey, "--labels", bonn.labels];
  const into = join(folder, "bonn-canary");
  await stratagemRuntime("pull", factory.reference(TAG), "-o", into, ...trusted);
  await bonn.startCanary();
  return bonn.triedCanary();
}

function countText({ requests }: CanaryStatus): string {
  const { kept = 0, violated = 0 } = requests?.canary ?? {};
  return `${kept + violated} requests, ${violated} of them late or refused`;
}
