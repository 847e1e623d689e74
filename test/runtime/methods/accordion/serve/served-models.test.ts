import { expect, test } from "vitest";
import type { AccordionBundle, MalleableVariant } from "../../../../../runtime/bundle/schema.ts";
import { accordionServedModels } from "../../../../../runtime/methods/accordion/serve/served-models.ts";
import { table1Bundle } from "../../../../support/accordion-bundle.ts";
import { DEEP, SMALL, servedPlaces } from "./fake-places.ts";

test("every shape has its stages, among the stage models of all models", () => {
  const bundle = servedPlaces();
  const stageModels = bundle.tasks.flatMap(({ variants }) =>
    variants.flatMap(({ name, stages }) => stages.map(({ from, to }) => `${name} ${from}-${to}`)),
  );
  const [deep, small] = accordionServedModels(bundle);
  const named = (shape: number) =>
    [deep, small].map((model) =>
      model?.stagesByShape[shape]?.map(({ stageModel }) => stageModels[stageModel]),
    );
  expect(named(0)).toEqual([["deep 0-6"], ["small 0-2"]]);
  expect(named(1)).toEqual([
    ["deep 0-3", "deep 3-6"],
    ["small 0-1", "small 1-2"],
  ]);
  expect(small?.stagesByShape[2]).toBeNull();
  expect([deep?.fastestMs, small?.fastestMs]).toEqual([30, 5]);
});

test("a value is kept as long as a stage behind, or the answer, needs it", () => {
  const [deep] = accordionServedModels(servedPlaces({ models: [DEEP, SMALL] }));
  const stages = deep?.stagesByShape[2] ?? [];
  expect(stages.map(({ inputs, outputs }) => [inputs, outputs])).toEqual([
    [["x"], ["h2", "h1"]],
    [["h2"], ["h4"]],
    [["h4", "h1"], ["y"]],
  ]);
  expect(stages.map(({ keeps }) => [...keeps].sort())).toEqual([
    ["h1", "h2", "h4", "y"],
    ["h1", "h4", "y"],
    ["y"],
  ]);
});

function withVariant(change: (variant: MalleableVariant) => Partial<MalleableVariant>) {
  const bundle = servedPlaces({ models: [SMALL] });
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) => ({ ...variant, ...change(variant) })),
  }));
  return { ...bundle, tasks } satisfies AccordionBundle;
}

test("stages that do not make up the model are refused", () => {
  const missing = withVariant(({ stages }) => ({ stages: stages.slice(0, 2) }));
  expect(() => accordionServedModels(missing)).toThrow(
    'variant "small" stage 1-2: expected one for every stage, got no model',
  );
  const unfed = withVariant(({ stages }) => ({
    stages: stages.map((stage) => ({
      ...stage,
      model: { ...stage.model, outputs: stage.to === 1 ? [] : stage.model.outputs },
    })),
  }));
  expect(() => accordionServedModels(unfed)).toThrow('variant "small" stage 1-2 input "h1"');
  const mute = withVariant(({ stages }) => ({
    stages: stages.map((stage) => ({ ...stage, model: { ...stage.model, outputs: [] } })),
  }));
  expect(() => accordionServedModels(mute)).toThrow(
    'variant "small" output "y": expected an output',
  );
  expect(() => accordionServedModels(table1Bundle())).toThrow('variant "ResNet50"');
});
