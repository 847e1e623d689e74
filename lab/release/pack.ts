/**
 * `npm run release:pack -- [--out FOLDER] [--key NAME.key]`: the files of a release. Lists them
 * with their sizes and digests.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { alignColumns } from "stratagem-runtime/internal/describe/text";
import { LIST } from "./checksums.ts";
import { uncommitted } from "./clean-build.ts";
import { makeRelease } from "./release.ts";

const { values } = parseArgs({
  options: {
    out: { type: "string", default: ".stratagem/release" },
    key: { type: "string" },
  },
});
const changed = uncommitted();
if (changed.length > 0) console.warn(`not committed:\n${changed.join("\n")}`);
const { folder } = makeRelease(values.out, values.key ?? null);
const rows = readFileSync(join(folder, LIST), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => {
    const [sha256 = "", name = ""] = line.split("  ");
    return [name, `${statSync(join(folder, name)).size}`, sha256];
  });
console.log(alignColumns([["file", "bytes", "SHA-256"], ...rows]));
console.log(`\nin ${folder}, with ${LIST} and images/`);
