/** Values of the actions of a state, by the names of the variants. */
import type { ActionValues, RamsisBundle } from "../../../bundle/schema.ts";

export interface NamedValues {
  readonly unit: ActionValues["unit"];
  readonly actions: readonly NamedValue[];
}

export interface NamedValue {
  readonly variant: string;
  readonly batch: number;
  readonly advantage: number;
}

export function namedValues({ tasks }: RamsisBundle, { unit, actions }: ActionValues): NamedValues {
  const variants = tasks.flatMap((task) => task.variants);
  const nameOf = (variant: number): string => variants[variant]?.name ?? "";
  return {
    unit,
    actions: actions.map(({ variant, ...rest }) => ({ variant: nameOf(variant), ...rest })),
  };
}
