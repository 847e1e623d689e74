/** What the house asks of its files beside their imports, which test/architecture.test.ts checks. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const NAMES = "ramsis|loki|inferline|themis|accordion";
/** A name beside a comparison, or as the case of a switch. */
const COMPARES = new RegExp(
  `[!=]==?\\s*["'\`](${NAMES})["'\`]|["'\`](${NAMES})["'\`]\\s*[!=]==?|case ["'\`](${NAMES})["'\`]`,
);
/** The scheduler of a policy has the name of its method, and is an option of that method alone. */
const OF_THE_METHOD_ITSELF = /\bscheduler === "accordion"/;
const ROOMS = ["runtime"];
const REGISTRIES = ROOMS.map((room) => `${room}/methods/registry.ts`);

test("nothing but the registry compares a method's name", () => {
  const files = ROOMS.flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: "utf8" }).map((path) => join(room, path)),
  ).filter((path) => path.endsWith(".ts") && !REGISTRIES.includes(path));
  expect(files.length).toBeGreaterThan(100);
  const compared = files.flatMap((path) =>
    readFileSync(path, "utf8")
      .split("\n")
      .flatMap((line, index) =>
        COMPARES.test(line) && !OF_THE_METHOD_ITSELF.test(line)
          ? [`${path}:${index + 1}: ${line.trim()}`]
          : [],
      ),
  );
  expect(compared).toEqual([]);
});

test.each(['if (bundle.method === "loki") {', "return 'themis' != name;", 'case "accordion":'])(
  "takes %s for a comparison",
  (line) => {
    expect(COMPARES.test(line)).toBe(true);
  },
);
