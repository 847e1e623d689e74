/** Small chunks of a frame are written together, and nothing of it changes by that. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { GatheredChunks } from "../../../runtime/exec/process/worker-channel.ts";

const SMALL = 1 << 15;
const CAPACITY = 1 << 19;

const chunks = fc.array(
  fc
    .tuple(fc.constantFrom(0, 1, 8, 12_288, SMALL, SMALL + 1, 200_000), fc.nat(255))
    .map(([length, fill]) => new Uint8Array(length).fill(fill)),
  { maxLength: 40 },
);

test("frames stay what they are, one after the other in the same memory", () => {
  const gathered = new GatheredChunks();
  fc.assert(
    fc.property(chunks, (frame) => {
      const written = gathered.gather(frame);
      expect(Buffer.concat(written).equals(Buffer.concat(frame))).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test("small chunks in a row are one, and large ones are not copied", () => {
  const [head, row, image] = [new Uint8Array(8), new Uint8Array(12_288), new Uint8Array(SMALL + 1)];
  const written = new GatheredChunks().gather([head, row, row, image, row, image]);
  expect(written.map(({ length }) => length)).toEqual([
    8 + 2 * 12_288,
    SMALL + 1,
    12_288,
    SMALL + 1,
  ]);
  expect(written[1]).toBe(image);
  expect(written[3]).toBe(image);
});

test("what is beyond the memory of a frame is written as it is", () => {
  const rows = Array.from({ length: 2 * (CAPACITY / SMALL) }, () => new Uint8Array(SMALL));
  const written = new GatheredChunks().gather(rows);
  expect(written).toHaveLength(1 + CAPACITY / SMALL);
  expect(written[0]).toHaveLength(CAPACITY);
  expect(written.at(-1)).toBe(rows.at(-1));
});
