/** Files that a JSON request executes: the chain of a request stays short. */
import { expect, test } from "vitest";
import { executedByRequest } from "../lab/count/executed.ts";

const MOST_EXECUTED = 50;

test("a JSON request executes at most 50 files", async () => {
  const files = await executedByRequest(
    "policies/letters/bundle.msgpack",
    "models/image-classification",
  );
  expect(files.length, files.join("\n")).toBeLessThanOrEqual(MOST_EXECUTED);
  expect(files).toContain("runtime/dist/server/applications/inference.js");
}, 120_000);
