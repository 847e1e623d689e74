/** Bundles of every edition of the format, read by the runtime of every edition since. */
import { beforeAll, describe, expect, test } from "vitest";
import { formatMatrix, hasHistory, type Reading } from "../../lab/release/format-matrix.ts";
import { readEditions } from "../../lab/release/formats.ts";

const isThere = hasHistory();
// Hosts of CI check out one commit, unless they are told otherwise: it is no fault there.
const withHistory = (name: string, run: () => void): void => {
  if (isThere) test(name, run);
  else test.skip(`${name} (needs the history of this repository)`, run);
};
const editions = readEditions();
const names = editions.map(({ name }) => name);
let readings: readonly Reading[] = [];

beforeAll(() => {
  if (isThere) readings = formatMatrix();
}, 300_000);

describe.each(editions)("files of edition $name", ({ name: edition, files, refusedAs }) => {
  const since = names.slice(names.indexOf(edition));
  const before = names.slice(0, names.indexOf(edition));

  withHistory("are read by the runtime of that edition, and by every later one", () => {
    const own = readings.filter((each) => each.edition === edition);
    const read = own.filter(({ runtime }) => runtime === null || since.includes(runtime));
    expect(read).toHaveLength(files.length * (since.length + 1));
    expect(read.filter(({ refusal }) => refusal !== null)).toEqual([]);
  });

  if (before.length === 0) return;
  withHistory("that have what it adds are refused by earlier runtimes, which name it", () => {
    const refused = readings.filter(
      ({ runtime, edition: of, refusal }) =>
        of === edition && refusal !== null && before.includes(runtime ?? ""),
    );
    expect(refused.length).toBeGreaterThan(0);
    // A file may have what editions between added, too.
    const unknownTo = (runtime: string | null) =>
      editions
        .slice(names.indexOf(runtime ?? edition) + 1, names.indexOf(edition) + 1)
        .flatMap(({ adds }) => adds);
    const unnamed = refused.filter(
      ({ refusal, runtime }) =>
        !refusal?.startsWith("BUNDLE_SCHEMA: ") ||
        !(
          unknownTo(runtime).some((key) => refusal.includes(`got the key "${key}"`)) ||
          (refusedAs !== undefined && refusal.includes(refusedAs))
        ),
    );
    expect(unnamed).toEqual([]);
  });
});
