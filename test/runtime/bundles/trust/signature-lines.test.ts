/** What /metrics says of signatures: when they end, so that somebody is told before. */
import { expect, test } from "vitest";
import { exposition } from "../../../../runtime/base/exposition.ts";
import { signatureLines } from "../../../../runtime/host/hosted-bundles.ts";

const served = (name: string, expiresAt: string | null) => {
  return { application: { name }, claims: { expiresAt } };
};

test("signatures have their end in seconds since 1970, or none", () => {
  const text = exposition(
    signatureLines([served("letters", "2027-01-31T00:00:00Z"), served("scenes", null)]),
  );
  expect(text.split("\n").filter((line) => !line.startsWith("#"))).toEqual([
    'stratagem_expiry_timestamp_seconds{model="letters",what="signature"} 1801353600',
    'stratagem_expiry_timestamp_seconds{model="scenes",what="signature"} +Inf',
    "",
  ]);
});

test("nothing is said where no signature is asked for", () => {
  expect(signatureLines([{ application: { name: "letters" }, claims: null }])).toEqual([]);
});
