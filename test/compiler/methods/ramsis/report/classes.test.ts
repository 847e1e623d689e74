/** What the report says of classes. */
import { parseHTML } from "linkedom";
import { expect, test } from "vitest";
import { renderRamsisReport } from "../../../../../compiler/methods/ramsis/report/report.ts";
import {
  planSimulations,
  runSimulations,
} from "../../../../../compiler/methods/ramsis/report/simulated-levels.ts";
import type { RamsisBundle } from "../../../../../runtime/bundle/schema.ts";
import { classBundle } from "../../../../support/class-bundle.ts";
import { tinyBundle } from "../../../../support/tiny-bundle.ts";

async function pageOf(bundle: RamsisBundle) {
  const plan = { ...planSimulations(bundle), queries: 400 };
  const runs = await runSimulations(bundle, plan, async () => {});
  const file = { byteCount: 0, sha256: "0".repeat(64) };
  const text = renderRamsisReport({
    bundle,
    file,
    plan,
    runs,
    frontier: null,
    latencies: null,
    simulations: [],
  });
  return parseHTML(text).document;
}

const rowsOf = (document: Awaited<ReturnType<typeof pageOf>>) =>
  [...document.querySelectorAll("#class-table tbody tr")].map((row) =>
    [...row.querySelectorAll("td")].slice(0, 7).map((cell) => cell.textContent),
  );

test("every class has its deadline, its workers, its promise and a map of its own", async () => {
  const document = await pageOf(classBundle({ split: [1, 1], loadsQps: [50] }));
  expect(rowsOf(document)).toEqual([
    ["50", "interactive", "100 ms", "75%", "1", "70%", "0.1%"],
    ["50", "relaxed", "400 ms", "25%", "1", "70%", "0.1%"],
  ]);
  const captions = [...document.querySelectorAll("figcaption")].map((one) => one.textContent);
  expect(captions.map((text) => text.replaceAll("\n", " "))).toContain(
    "Class relaxed, on 1 of the workers.",
  );
  expect(document.querySelector("#map-0-1-title")).not.toBeNull();
  expect(document.querySelector(".lead")?.textContent).toContain(
    "a deadline of 100 ms (interactive) and 400 ms (relaxed)",
  );
  expect(document.toString()).toContain("deadline of relaxed");
});

test("in one queue no class has its own workers; without classes there is no table", async () => {
  const shared = await pageOf(classBundle({ loadsQps: [50] }));
  expect(rowsOf(shared).map((row) => row[4])).toEqual(["one queue", "one queue"]);
  expect(shared.querySelector("#map-0-1-title")).toBeNull();
  expect((await pageOf(tinyBundle())).querySelector("#class-table")).toBeNull();
});
