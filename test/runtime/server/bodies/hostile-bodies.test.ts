/** Bodies that are wrong, long or deep are answered; none is read on the event loop for long. */
import { afterEach, expect, test, vi } from "vitest";
import { attacksOn } from "../../../../lab/campaign/bodies/attacks.ts";
import { Connection, problemOf } from "../../../../lab/campaign/bodies/connection.ts";
import { BodyGenerator } from "../../../../lab/campaign/bodies/generated.ts";
import { sendGenerated } from "../../../../lab/campaign/bodies/load.ts";
import { casesOf } from "../../../support/cases.ts";
import { closeAll, type Harness, INFER, serve, servedBundle } from "../harness.ts";

afterEach(async () => {
  vi.restoreAllMocks();
  await closeAll();
});

/** Counts characters of JSON that this thread parses at once. */
function longestParsed(): () => number {
  const parse = JSON.parse;
  let longest = 0;
  vi.spyOn(JSON, "parse").mockImplementation((text: string, ...more) => {
    if (text.length > longest) longest = text.length;
    return parse(text, ...more);
  });
  return () => longest;
}

function portOf({ server }: Harness): number {
  return Number(new URL(server.url).port);
}

const CASES = casesOf(100_000, 25);

test(`${CASES} generated bodies are all answered, with a reason unless with 200`, async () => {
  const harness = await serve();
  const input = { name: "x", datatype: "FP32", width: 2, elementBytes: 4 };
  const longest = longestParsed();
  const generator = new BodyGenerator(1, input);
  const { lost, countByStatus } = await sendGenerated(portOf(harness), INFER, generator, CASES, 8);
  expect(lost).toEqual([]);
  const statuses = [...countByStatus.keys()].sort();
  expect(statuses).toEqual([200, 400, 415]);
  expect(countByStatus.get(200)).toBeGreaterThan(CASES / 20);
  expect(longest()).toBeLessThanOrEqual(65_536);
}, 120_000);

test("attacks are answered too, and nothing long is parsed here", async () => {
  const pixels = { name: "x", dtype: "uint8", shape: [-1, 4096] };
  const harness = await serve({ bundle: servedBundle({}, [pixels], [{ ...pixels, name: "y" }]) });
  const input = { name: "x", datatype: "UINT8", width: 4096, elementBytes: 1 };
  const attacks = attacksOn(input, 64);
  const longest = longestParsed();
  const lost: string[] = [];
  await Promise.all(
    attacks.map(async (attack) => {
      const connection = new Connection(portOf(harness));
      const problem = problemOf(await connection.send(INFER, attack));
      if (problem !== undefined) lost.push(`${attack.name}: ${problem}`);
      connection.close();
    }),
  );
  expect(lost).toEqual([]);
  expect(longest()).toBeLessThanOrEqual(65_536);
}, 60_000);
