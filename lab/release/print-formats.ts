/** `npm run release:formats`: prints which runtime reads the files of which edition. */
import { alignColumns } from "stratagem-runtime/internal/describe/text";
import { formatMatrix, type Reading } from "./format-matrix.ts";
import { readEditions } from "./formats.ts";

const readings = formatMatrix();
const editions = readEditions().map(({ name }) => name);
const rows = [...editions, null].map((runtime) => [
  runtime === null ? "this tree" : `edition ${runtime}`,
  ...editions.map((edition) => cell(readings, runtime, edition)),
]);
console.log(alignColumns([["runtime", ...editions.map((name) => `of ${name}`)], ...rows]));
for (const { runtime, file, refusal } of readings) {
  if (refusal !== null) console.log(`\n${runtime ?? "this tree"}, ${file}:\n  ${refusal}`);
}

function cell(readings: readonly Reading[], runtime: string | null, edition: string): string {
  const own = readings.filter((each) => each.runtime === runtime && each.edition === edition);
  const read = own.filter(({ refusal }) => refusal === null);
  return `${read.length} of ${own.length}`;
}
