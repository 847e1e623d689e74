/** What docs/models.md shows of specs is as specs have it, and its table as methods have it. */
import { expect, test } from "vitest";
import { parse } from "yaml";
import { allMethods } from "../../compiler/methods/registry.ts";
import type { Variant } from "../../compiler/spec/application.ts";
import { applicationSchema } from "../../compiler/spec/application-schema.ts";
import { bindingMistakes } from "../../compiler/spec/binding.ts";
import { kindMistakes } from "../../compiler/spec/host-tasks.ts";
import { rulesOf } from "../../compiler/spec/policy.ts";
import { readMarkdown } from "./markdown.ts";

const { fences, text } = readMarkdown("docs/models.md");
const examples = fences.filter(({ language }) => language === "yaml");
const profile = "profile.json#variant";

test.each(examples)("the example in line $line is as specs have it", ({ lines }) => {
  const items: { variants?: object[] }[] = parse(lines.join("\n"));
  const tasks = items.every(({ variants }) => variants !== undefined)
    ? items
    : [{ name: "task", variants: items }];
  const whole = tasks.map((task) => ({
    ...task,
    variants: task.variants?.map((variant) => ({ profile, ...variant })),
  }));
  const parsed = applicationSchema.shape.tasks.parse(whole);
  expect(parsed).toMatchObject(whole);
  const mistakes = parsed
    .flatMap(({ variants }) => variants)
    .flatMap((variant) => [...kindMistakes(variant, []), ...bindingMistakes(variant, [])]);
  expect(mistakes).toEqual([]);
});

/** What the table says of something, by method. */
function rowOf(title: string): Record<string, string> {
  const [head, row] = ["|", title].map((start) => {
    const line = text.find((each) => each.text.startsWith(start === "|" ? "| | " : `| ${start}`));
    return (line?.text ?? "").split("|").map((cell) => cell.trim());
  });
  return Object.fromEntries(
    (head ?? []).flatMap((name, at) => (name === "" ? [] : [[name, row?.[at] ?? ""]])),
  );
}

test("the table knows which methods take lists of sizes, state and bindings", async () => {
  const methods = await allMethods();
  expect(Object.keys(rowOf("tasks"))).toEqual(methods.map(({ name }) => name));
  const variant = { profiles: [], binding: { axes: { x: 320 } } } as unknown as Variant;
  for (const { name, keepsState = false } of methods) {
    const rules = rulesOf({ method: name });
    expect(rowOf("lists of sizes")[name] === "no", name).toBe(rules.buckets !== true);
    expect(rowOf("`state`")[name] === "no", name).toBe(!keepsState);
    if (name !== "accordion") continue;
    const [mistake] = rules.measurementMistakes(variant, ["variants", 0, "profile"]);
    expect(mistake).toMatchObject({
      path: ["variants", 0],
      message: expect.stringContaining("expected none of axes, padding, inputs, outputs"),
    });
    expect(rowOf("one size of an axis")[name]).toBe("no");
  }
});
