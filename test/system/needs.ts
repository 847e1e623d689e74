/** Tests of parts that not every machine has skip by name where one is missing, and fail in CI. */
import { test } from "vitest";

/** Set by `.ci/run`, which installs every part: there a missing one is a failure. */
const ALL_PARTS = process.env["STRATAGEM_SYSTEM"] === "all";

/** `test`, or a skip that says what is missing. @param isThere whether the part was found. */
export function testWith(part: string, isThere: boolean): (name: string, run: Run) => void {
  if (isThere || ALL_PARTS) return (name, run) => test(name, run);
  return (name) => test.skip(`${name} (needs ${part})`, () => {});
}

type Run = () => void | Promise<void>;
