/** `npm run release:version -- 1.2.3`: writes a version to every place that says it. */
import { setVersion, versionFaults, versionOf } from "./versions.ts";

const EXIT_USAGE = 64;
const EXIT_DIFFERENT = 2;

const [asked] = process.argv.slice(2);
try {
  if (asked !== undefined) setVersion(asked);
  const faults = versionFaults();
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = EXIT_DIFFERENT;
  else console.log(versionOf());
} catch (error) {
  if (!(error instanceof RangeError)) throw error;
  console.error(error.message);
  process.exitCode = EXIT_USAGE;
}
