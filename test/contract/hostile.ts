/** Tries mutants of a method's bundles: each is refused by name, or is sound and works. */
import { describe, expect, test } from "vitest";
import { drive } from "../../lab/campaign/bundles/drive.ts";
import { Mutants } from "../../lab/campaign/bundles/mutants.ts";
import { axesByFile, originals } from "../../lab/campaign/bundles/trial.ts";
import { BundleError } from "../../runtime/base/bundle-error.ts";
import type { Bundle } from "../../runtime/bundle/schema.ts";
import { decodeBundle, encodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import { Rng } from "../../runtime/core/rng.ts";
import { casesOf } from "../support/cases.ts";
import type { Subject } from "./subjects/subject.ts";

/** Mutants of each sample, and of each committed policy; of all methods they are 100,000,
 * of which `npm test` tries a tenth. */
const OF_SAMPLE = casesOf(15_500);
const OF_POLICY = casesOf(1_400);
/**
 * Of the accepted mutants, those that are looked at again without the validator, and of policies
 * those that are simulated and served; the campaign does all of it to all of them.
 */
const CHECKED_EVERY = 6;
const DRIVEN_EVERY = 10;
/** The machine may be busy with other tests. */
const TIMEOUT_MS = 300_000;
const SEED = 20_241_122;
const AXES = axesByFile(".");

type Tally = Record<string, number>;

/** @throws what is no refusal in one line. */
function accepted(file: Uint8Array, tally: Tally): Bundle | null {
  const count = (outcome: string) => {
    tally[outcome] = (tally[outcome] ?? 0) + 1;
  };
  try {
    const bundle = decodeBundle(file);
    count("accepted");
    return bundle;
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    if (error.message.includes("\n")) throw new Error(`more than one line: ${error.message}`);
    count(error.code);
    return null;
  }
}

function checkRoundTrip(bundle: Bundle): void {
  const bytes = encodeBundle(bundle);
  if (Buffer.compare(encodeBundle(decodeBundle(bytes)), bytes) === 0) return;
  throw new Error("encoding what was decoded gives other bytes");
}

/** @param told what was changed. */
async function held(told: string, act: () => void | Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    throw new Error(`${told}: ${error}`, { cause: error });
  }
}

/** Fuzzes these methods; several files do so that they run side by side. */
export function describeHostile(subjects: readonly Subject[]): void {
  describe.each(subjects.map((subject) => [subject.method, subject] as const))(
    "mutants of %s",
    (method, { bundles }) => {
      test.each(bundles.samples)(
        "of $what are refused by name, or sound",
        async (sample) => {
          const { bundle: base } = sample;
          const mutants = new Mutants(encodeBundle(base), new Rng(SEED, 1));
          const tally: Tally = {};
          for (let index = 0; index < OF_SAMPLE; index++) {
            const { file, told } = mutants.next();
            await held(told, () => {
              const bundle = accepted(file, tally);
              if (bundle === null || (tally["accepted"] ?? 0) % CHECKED_EVERY > 0) return;
              bundles.checkSound(bundle);
              checkRoundTrip(bundle);
            });
          }
          expect(Object.keys(tally).sort()).toEqual([
            "BUNDLE_SCHEMA",
            "BUNDLE_SEMANTICS",
            "accepted",
          ]);
          expect(tally["accepted"]).toBeGreaterThan(OF_SAMPLE / 16);
        },
        TIMEOUT_MS,
      );

      const policies = originals(".", method).filter(({ name }) => name.startsWith("policies/"));
      test.each(policies)(
        "of $name are refused by name, or are served",
        async (policy) => {
          const mutants = new Mutants(policy.file, new Rng(SEED, 2));
          const tally: Tally = {};
          let served = 0;
          for (let index = 0; index < OF_POLICY; index++) {
            const { file, told } = mutants.next();
            await held(told, async () => {
              const bundle = accepted(file, tally);
              if (bundle === null) return;
              const isDriven = (tally["accepted"] ?? 0) % DRIVEN_EVERY === 0;
              if (!isDriven) return;
              const base = policy.bundle;
              const { isServed } = await drive(bundle, { base, axesByFile: AXES, reloads: true });
              if (isServed) served++;
            });
          }
          expect(served).toBeGreaterThan(OF_POLICY / 140);
        },
        TIMEOUT_MS,
      );
    },
  );
}
