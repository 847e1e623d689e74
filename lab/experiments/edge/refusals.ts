/** Versions that Berlin must not follow, each published as the good one before it was. */
import type { Version } from "./factory.ts";
import { type Signing, withLookup, withQueue } from "./factory.ts";
import type { Stage } from "./stage.ts";

const BERLIN = "site=berlin";

interface Bad {
  readonly what: string;
  readonly version: Version;
  readonly scope?: string;
  readonly how?: Signing;
  /** What is done to it once it is signed. */
  readonly change?: () => void;
}

/** @param second which Berlin follows, and goes back to after each. */
export async function playRefusals(stage: Stage, first: Version, second: Version): Promise<void> {
  for (const bad of await badOf(stage, first)) {
    await stage.step(`Berlin gets ${bad.what}`, () => refused(stage, bad, second));
  }
}

async function badOf({ factory }: Stage, first: Version): Promise<readonly Bad[]> {
  const next = await factory.compile("next", withQueue(13));
  const renamed = await factory.compile("renamed", (spec) =>
    spec.replace("application: letters", "application: digits"),
  );
  const lookup = await factory.compile("lookup", withLookup);
  return [
    { what: "no signature", version: next, change: () => factory.unsign(next) },
    { what: "a changed signature", version: next, change: () => factory.tamper(next) },
    { what: "the key of somebody else", version: next, how: { key: "stranger" } },
    { what: "what has expired", version: next, how: { expires: "2026-01-01" } },
    { what: "an older version", version: first, how: { serial: 1 } },
    { what: "a version for Bonn", version: next, scope: "site=bonn" },
    { what: "another application", version: renamed },
    { what: "code that needs what is only in CI", version: lookup },
  ];
}

/** It is told wherever one may look, and the revision before decides on. */
async function refused(
  { berlin, factory, fleet }: Stage,
  { version, scope = BERLIN, how = {}, change = () => {} }: Bad,
  good: Version,
): Promise<string> {
  const before = await berlin.status();
  await factory.sign(version, scope, how);
  change();
  await factory.push(version, "berlin");
  let code = "";
  await berlin.until("refuses", async () => {
    code = (await berlin.status()).refused?.error.code ?? "";
    return code !== "";
  });
  const { revision } = await berlin.status();
  if (revision?.sha256 !== before.revision?.sha256) throw new Error("it was followed");
  await berlin.until("says so in its metrics", () => {
    return berlin.hasMetric("stratagem_policy_source_state", 'state="refused"');
  });
  await berlin.until("tells the fleet", async () => fleet.hasHeard("berlin", code));
  const serial = await factory.sign(good, BERLIN);
  await factory.push(good, "berlin");
  await berlin.follows(serial);
  return `refused: ${code}`;
}
