/** Checks the in-memory store of tests against the interface of a cluster store, and keys. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { partsOfKey, storeKey } from "../../../../runtime/features/cluster/store.ts";
import { MemoryBucket } from "../../../support/memory-store.ts";
import { STORE_CASES } from "../../../support/store-cases.ts";

for (const [name, run] of Object.entries(STORE_CASES)) {
  test(name, async () => {
    const bucket = new MemoryBucket();
    const [one, other] = [bucket.store(), bucket.store()];
    await run({
      stores: [one, other],
      cut: async () => {
        one.link = "cut";
      },
      heal: async () => {
        one.link = "whole";
      },
    });
  });
}

test("a key has only characters that NATS allows, and its parts can be read back", () => {
  const part = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
      const key = storeKey(...parts);
      expect(key).toMatch(/^[\w=-]+(\.[\w=-]+)*$/);
      expect(partsOfKey(key)).toEqual(parts);
    }),
  );
});
