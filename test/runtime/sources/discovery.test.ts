/** Documents that name the bundles of sites, and what of them is refused. */
import { expect, test } from "vitest";
import { policiesFor, readDiscovery } from "../../../runtime/sources/discovery-document.ts";

const URL = "https://fleet.example/edge/discovery.json?leave=secret";

function entriesOf(document: unknown) {
  return readDiscovery(Buffer.from(JSON.stringify(document)), URL);
}

test("of each application the first entry whose labels a site has is for it", () => {
  const entries = entriesOf({
    version: 1,
    policies: [
      {
        application: "letters",
        labels: { site: ["bonn", "berlin"] },
        policy: "oci://r:5000/l:city",
      },
      { application: "letters", labels: { tier: "edge" }, policy: "letters/bundle.msgpack" },
      { application: "scenes", labels: { tier: "edge", gpu: "yes" }, policy: "https://a/scenes" },
      { application: "scenes", policy: "https://a/scenes-cpu" },
    ],
  });
  const chosen = (labels: Record<string, string>) => [...policiesFor(entries, labels, URL)];
  expect(chosen({ site: "berlin", tier: "edge" })).toEqual([
    ["letters", "oci://r:5000/l:city"],
    ["scenes", "https://a/scenes-cpu"],
  ]);
  expect(chosen({ site: "ulm", tier: "edge", gpu: "yes" })).toEqual([
    ["letters", "https://fleet.example/edge/letters/bundle.msgpack"],
    ["scenes", "https://a/scenes"],
  ]);
  expect(chosen({})).toEqual([["scenes", "https://a/scenes-cpu"]]);
});

test.each([
  ["no json", "expected a document in JSON"],
  [{ version: 2, policies: [] }, "expected version 1, got 2"],
  [{ version: 1, policies: {} }, "expected policies to be a list"],
  [{ version: 1, policies: [{ policy: 3 }] }, "expected policies[0].policy to be a URL, got 3"],
  [{ version: 1, policies: [{}] }, "expected policies[0].policy to be a URL, got undefined"],
  [
    { version: 1, policies: [{ policy: "a", label: {} }] },
    'expected policies[0] to have application, labels, policy, got "label"',
  ],
  [
    { version: 1, policies: [{ policy: "a", labels: { site: 3 } }] },
    "expected policies[0].labels.site to be a text, or a list of texts, got 3",
  ],
  [{ version: 1, policies: [], more: 1 }, 'expected version and policies, got "more"'],
])("%j is refused by what it should be, without the query of its URL", (document, words) => {
  const read = () => {
    const text = typeof document === "string" ? document : JSON.stringify(document);
    return readDiscovery(Buffer.from(text), URL);
  };
  expect(read).toThrow(words);
  expect(read).toThrow("https://fleet.example/edge/discovery.json?…: ");
  expect(read).not.toThrow("secret");
});

test("labels that nothing is for are refused, and so are some applications without a name", () => {
  const entries = entriesOf({ version: 1, policies: [{ labels: { site: "ulm" }, policy: "a" }] });
  const expected = 'expected a policy for the labels of this site, got {"site":"bonn"}';
  expect(() => policiesFor(entries, { site: "bonn" }, URL)).toThrow(expected);
  const mixed = entriesOf({
    version: 1,
    policies: [{ policy: "a" }, { application: "letters", policy: "b" }],
  });
  const names = "expected each policy to name its application";
  expect(() => policiesFor(mixed, {}, URL)).toThrow(names);
});
